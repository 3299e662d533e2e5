"""Which passages of a text a question is about: BM25 (Robertson et al. 1994), by the library bm25s, for any script.

Words are compared in Unicode's NFKC form without case. Scripts that put no spaces between words (Han, kana, Thai, ..)
and Hangul, whose words carry endings, are searched by single characters and pairs of neighbours. No word is left out
as too common: BM25 weighs those down by itself, in any language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

import bm25s
import numpy as np
from bm25s.tokenization import Tokenizer

UNSPACED = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Tibetan, Myanmar, Khmer
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"  # jamo, radicals, kana
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"  # Han, hangul
)
MARKS = (  # combining characters inside words, which Python's \w leaves out
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u0900-\u0963\u0966-\u0dff\u200c\u200d"
)
_RUN = re.compile(f"[{UNSPACED}]+")
_WORD = re.compile(f"[\\w{MARKS}{UNSPACED}]+")


def words(text: str) -> list[str]:
    """The words that a text is searched by, in order; empty if it has none."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return _WORD.findall(_RUN.sub(_pairs, folded))


def _pairs(run: re.Match[str]) -> str:
    """Single characters and pairs of neighbours of a run, between spaces."""
    characters = run.group()
    return f" {' '.join(characters)} {' '.join(map(''.join, zip(characters, characters[1:], strict=False)))} "


class Index:
    """A BM25 index over passages, built in one pass over them."""

    def __init__(self, passages: Iterable[str]) -> None:
        tokenizer = Tokenizer(lower=False, splitter=words, stopwords=[])
        ids = list(tokenizer.streaming_tokenize(passages))  # word numbers, one list per passage
        self._bm25 = bm25s.BM25()
        self._bm25.index((ids, tokenizer.get_vocab_dict()), show_progress=False)

    def rank(self, question: str) -> np.ndarray:
        """Passages that share a word with the question, best first, ties in the text's order; int64 [found]."""
        asked = words(question)
        if not asked:
            return np.zeros(0, np.int64)
        scores = self._bm25.get_scores(asked)  # float32 [passages]
        order = np.argsort(-scores, kind="stable")
        return order[scores[order] > 0]
