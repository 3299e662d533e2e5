"""Where the pages of a bank end: near a given number of tokens, after a paragraph, a line or a sentence if one is near.

A fact that is cut in two is in no page.
"""

from __future__ import annotations

import numpy as np

from vtc.llm.vocabulary import Vocabulary

SLACK = 0.25
"""How far from its fair share, as a part of it, a page may end where the text has a natural end."""

SENTENCE = (b".", b"!", b"?", b":", "。".encode(), "！".encode(), "？".encode())
"""What a sentence ends with."""


def page_ends(ids: np.ndarray, words: Vocabulary, size: int) -> list[int]:
    """Where pages of at most `size` tokens end, ids int32 [n >= 1]: the last is n.

    What is left is shared out evenly over as few pages as it takes, and a page ends at the best end near its share, the
    nearest of equals.
    """
    ranks = _ranks(words)[ids]  # [n]
    ranks[1:][(ranks[1:] > 1) & (ranks[:-1] > 1)] = 3  # a line's end after another, token by token
    ends = [0]
    while (rest := len(ids) - ends[-1]) > size:
        share = rest / -(-rest // size)
        sizes = np.arange(max(1, round(share * (1 - SLACK))), min(size, round(share * (1 + SLACK))) + 1)
        near = ranks[ends[-1] + sizes - 1]
        best = sizes[near == near.max()]
        ends.append(ends[-1] + int(best[np.abs(best - share).argmin()]))
    return [*ends[1:], len(ids)]


def _ranks(words: Vocabulary) -> np.ndarray:
    """How good an end each id is, int8 [V]: 3 a paragraph's, 2 a line's, 1 a sentence's, 0 none."""

    def rank(piece: bytes) -> int:
        if b"\n\n" in piece:
            return 3
        return 2 if b"\n" in piece else int(piece.rstrip(b" \"')").endswith(SENTENCE))

    return np.array([rank(piece) for piece in words.token_bytes], np.int8)
