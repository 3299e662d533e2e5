"""A document of any length as pages of key/value latents, of which each question gets the few that it is about.

Each page is read alone after the opening and compacted, so that memory holds one page's work and what is kept. A small
model copies facts from the last few hundred tokens only, so that choosing comes before reading.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vtc.llm.frozen import FrozenLM
from vtc.llm.vocabulary import Vocabulary
from vtc.readers.kv.bank.cut import page_ends
from vtc.readers.kv.bank.likelihood import likelihood
from vtc.readers.kv.bank.place import behind, beside, halved, without
from vtc.readers.kv.bank.querykey import Head, Keys, finders, queries_of
from vtc.readers.kv.cache import CompactCache
from vtc.readers.kv.compact import Recipe, extended, opened
from vtc.readers.search import Index
from vtc.records.errors import UsageError
from vtc.records.progress import bar

PAGE_TOKENS = 640
"""Most tokens of a page."""
GAP = 256
"""Positions that stay empty between the last page and the question: with none a small model goes on with the page
instead of answering."""


class Choice(NamedTuple):
    """A page that a question may be about."""

    page: int
    """Its number, counted from 0."""
    score: float
    """Higher is better; comparable within one question."""


@dataclass(frozen=True)
class Choosing:
    """How pages are chosen for a question."""

    words: int = 6
    """Candidates by BM25."""
    looks: int = 6
    """Candidates by the question's own queries."""
    likelihood: float = 0.25
    """Weight of the question's log-probability, nats, beside the score of its queries; 0 saves its computation."""

    def __post_init__(self) -> None:
        if self.words < 0 or self.looks < 1 or not self.likelihood >= 0:
            raise UsageError("words and likelihood must be at least 0, looks at least 1")


class Bank:
    """Pages that were each read alone after one opening.

    Attributes:
        pages: what is kept of each, in float16, at the positions right after the opening, without the opening itself.
        texts: of the pages.
        spans: bytes of the text that each page stands for, start and stop.
        heads: layer and query head of those that choose; empty where there is one page.
    """

    def __init__(
        self,
        llm: FrozenLM,
        opening: np.ndarray,
        pages: Sequence[CompactCache],
        texts: Sequence[bytes],
        heads: Sequence[Head] | None = None,
    ) -> None:
        """A bank from what is kept of its pages.

        Args:
            opening: ids int32 [k >= 1] that every page was read after.
            pages: at least one; `Bank.pages` of another bank, in any precision.
            texts: of the pages.
            heads: `Bank.heads` of another bank of the same document; by default they are found anew.
        """
        self.llm = llm
        self.sink = opened(llm, opening)
        self.pages = [halved(page) for page in pages]
        self.texts = list(texts)
        ends = np.cumsum([0, *map(len, texts)])
        self.spans = [(int(a), int(b)) for a, b in zip(ends, ends[1:], strict=False)]
        self._index = Index(text.decode(errors="replace") for text in texts)
        if heads is None:
            heads = finders(llm, self.sink, self.pages, texts) if len(self.pages) > 1 else []
        self.heads = list(heads)
        self._keys = Keys(llm, self.pages, self.heads)

    @classmethod
    def of(
        cls,
        llm: FrozenLM,
        opening: np.ndarray,
        ids: np.ndarray,
        ratio: float,
        recipe: Recipe | None = None,
        page_tokens: int = PAGE_TOKENS,
        rows: int | None = None,
        progress: bool = False,
    ) -> Bank:
        """Read a document, ids int32 [n >= 1], page by page.

        Args:
            ratio, recipe, rows: as of `extended`.
            page_tokens: most tokens of a page; less where the window is so small that a question would not fit behind.
        """
        page_tokens = min(page_tokens, max(1, (llm.window - len(opening)) // 2))
        parts = np.split(ids, page_ends(ids, llm.vocabulary, page_tokens)[:-1])
        sink = opened(llm, opening)

        def pages() -> Iterator[CompactCache]:
            for part in bar(parts, progress, unit="page"):
                yield without(extended(llm, sink, part, ratio, recipe or Recipe(), rows), len(opening))

        return cls(llm, opening, list(pages()), [llm.vocabulary.decode(part) for part in parts])

    @property
    def tokens(self) -> list[int]:
        """Tokens of each page."""
        return [page.get_seq_length() - self.sink.get_seq_length() for page in self.pages]

    def choose(self, closing: np.ndarray, question: str, most: int = 4, how: Choosing | None = None) -> list[Choice]:
        """Pages that the question may be about, best first, `most` of them at most.

        Args:
            closing: ids int32 [n] that follow the document and hold the question.
            question: its text.
        """
        how = how or Choosing()
        if len(self.pages) == 1:
            return [Choice(0, 0.0)][:most]
        first, last = within(closing, self.llm.vocabulary, question)
        asked = closing[:last]
        queries = queries_of(self.llm, self.sink, asked, first)
        looks = self._keys.scores(queries, self.sink.get_seq_length() + first).sum(0)  # [pages]
        best = looks.topk(min(how.looks, len(looks))).indices.tolist()
        candidates = sorted({*best, *self._index.rank(question)[: how.words].tolist()})
        scores = looks[candidates]
        told = max(first, 1)  # the first token of all is told by nothing
        if how.likelihood and len(candidates) > 1 and told < last:
            held = beside(self.llm, self.sink, [self.pages[number] for number in candidates])
            scores = scores + how.likelihood * likelihood(self.llm, held, len(candidates), asked, told)
        order = scores.argsort(descending=True, stable=True)[:most].tolist()
        return [Choice(candidates[place], float(scores[place])) for place in order]

    def fitting(self, choices: Sequence[Choice], room: int) -> list[int]:
        """The best of the pages that fit into `room` positions together, best last, as `assemble` takes them."""
        sizes = np.cumsum([self.tokens[choice.page] for choice in choices])
        return [choice.page for choice in choices[: int((sizes <= room).sum())]][::-1]

    def assemble(self, pages: Sequence[int], gap: int = GAP) -> CompactCache:
        """The opening, then the pages in the order given, the best one last, then a gap before the question."""
        return behind(self.llm, self.sink, [self.pages[number] for number in pages], gap)


def within(ids: np.ndarray, words: Vocabulary, part: str) -> tuple[int, int]:
    """First and last (not included) of the ids that hold the last occurrence of `part` in their text; all of them where
    it does not occur."""
    raw = part.encode()
    at = words.decode(ids).rfind(raw)
    if at < 0:
        return 0, len(ids)
    ends = np.cumsum(words.sizes[ids])
    return int(np.searchsorted(ends, at, "right")), int(np.searchsorted(ends, at + len(raw), "left")) + 1
