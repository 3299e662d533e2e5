"""The passages that a question is about, found by BM25 and given to the model as text, the best one last.

A small model copies facts only from the last few hundred tokens before the question, so little is given by default and
its order matters. A model that reads long texts well can be given more with `tokens` and `pages`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from vtc.readers.base import Context, Page, Reader
from vtc.readers.passages import Passage, iter_passages
from vtc.readers.search import Index
from vtc.records.errors import UsageError

ORDERS = ("rank", "text")


@dataclass
class ExpandReader(Reader):
    """Gives the model the best passages, as many as `tokens` and `pages` allow; the best one always."""

    name: ClassVar[str] = "expand"
    pages: int = 3
    """Most pages that passages are taken from."""
    tokens: int = 300
    """Most tokens of text that the model is given."""
    passage_bytes: int = 300
    """Longest passage."""
    order: str = "rank"
    """rank: the best passage last, next to the question; text: as they stand in the text."""
    _passages: list[Passage] = field(init=False, repr=False, default_factory=list)
    _index: Index = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name, least in (("pages", 1), ("tokens", 1), ("passage_bytes", 64)):
            if getattr(self, name) < least:
                raise UsageError(f"--{name.replace('_', '-')} {getattr(self, name)}: must be at least {least}")
        if self.order not in ORDERS:
            raise UsageError(f"--order {self.order}: choose {' or '.join(ORDERS)}")

    def take(self, pages: Iterator[Page]) -> None:
        """Cut into passages and index them, while the pages arrive."""
        self._passages = []

        def texts() -> Iterator[str]:
            for passage in iter_passages((page.text for page in pages), self.passage_bytes):
                self._passages.append(passage)
                yield passage.text.decode(errors="replace")

        self._index = Index(texts())

    def context(self, question: str, max_new_tokens: int) -> Context:
        """The best passages that fit, then the question."""
        room = self.room(question, max_new_tokens)
        opening, closing = self.around(question)
        chosen = self._choose(question, min(room, self.tokens))
        while True:
            parts = sorted(chosen, key=lambda p: p.start) if self.order == "text" else chosen[::-1]
            text = b"\n\n".join(passage.text.strip() for passage in parts)
            ids = self.llm.vocabulary.encode(text.decode(errors="replace"))
            if len(ids) <= room:
                prompt = np.concatenate([opening, ids, closing])
                return Context(prompt, max(1, len(ids)), [(p.start, p.stop) for p in parts])
            if len(chosen) == 1:
                raise UsageError(
                    f"the best passage takes {len(ids)} tokens and the window of {self.llm.name} "
                    f"({self.llm.window}) leaves {room} beside the question and its answer; shorten the question or "
                    "lower --max-tokens"
                )
            chosen.pop()  # the separators were not yet counted

    def _choose(self, question: str, room: int) -> list[Passage]:
        """Best passages first, together at most `room` tokens, but at least one."""
        if self.text_tokens <= room:
            return self._passages[::-1]  # all of it, in the text's order once the best is put last
        ranked = [self._passages[i] for i in self._index.rank(question)[:room]]  # each has a token at least
        if not ranked:
            raise UsageError(
                f"{self.title}: no passage shares a word with the question; ask in the words and the script of the text"
            )
        texts = [passage.text.decode(errors="replace") for passage in ranked]
        sizes = map(len, self.llm.vocabulary.encode_batch(texts))
        chosen: list[Passage] = []
        pages: set[int] = set()
        for passage, size in zip(ranked, sizes, strict=True):
            opened = pages.union(self.pages_of(passage.start, passage.stop))
            if chosen and size > room:
                break
            if not chosen or len(opened) <= self.pages:
                chosen.append(passage)
                pages = opened
                room -= size
        return chosen
