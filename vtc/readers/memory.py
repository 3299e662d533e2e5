"""Readers that know no question while they read: the document is read once, and any number of questions follow it."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vtc.readers.base import Context, Page, Reader
from vtc.records.errors import UsageError

FORMS = ("float32", "float16", "int8")
"""Forms in which a document can hold what a reader keeps."""


@dataclass(frozen=True)
class Memory:
    """What the model keeps of a document."""

    cache: Any
    """Key/value cache of what stands before the document, and of the document in whatever form; or what a reader makes
    such a cache of for each question."""
    positions: float
    """Entries for the document alone, on average over layers and heads."""
    spans: list[tuple[int, int]]
    """The bytes of the text that were read."""


@dataclass
class MemoryReader(Reader):
    """Keeps the ids of the document and one memory of it; a reader of this kind only says how it remembers."""

    ids: np.ndarray = field(init=False, repr=False, default_factory=lambda: np.zeros(0, np.int32))
    """int32 [n], the document by the frozen LLM's own tokenizer."""
    _kept: tuple[str, Memory] | None = field(init=False, repr=False, default=None)
    _unread: Callable[[], Iterator[Page]] | None = field(init=False, repr=False, default=None)

    @abstractmethod
    def remember(self, opening: np.ndarray) -> Memory:
        """Read `opening`, int32 [k >= 1], and then the document in `self.ids`.

        Raises:
            UsageError: the document is too long for this reader.
        """

    def packed(self, memory: Memory, form: str) -> bytes:
        """The cache of a memory as bytes, for a document to hold; see `vtc.readers.stored`.

        Raises:
            UsageError: this reader has no such bytes, or not this form of them.
        """
        raise UsageError(f"reader {self.name!r} keeps nothing that a document can hold; use --reader kv")

    def unpacked(self, blob: bytes) -> Any:
        """Inverse of `packed`: the cache.

        Raises:
            VtcError: other bytes.
        """
        raise UsageError(f"reader {self.name!r} keeps nothing that a document can hold; use --reader kv")

    def recall(
        self,
        memory: Memory,
        opening: str,
        pages: Callable[[], Iterator[Page]],
        *,
        tokens: int,
        ends: np.ndarray,
        about: dict[str, Any],
        title: str = "the text",
    ) -> None:
        """Take in a document that was read before; it replaces the one before, as in `prepare`.

        Args:
            memory: what was kept of it after the opening whose `key_of` is `opening`.
            pages: gives its pages, which are only asked for where it is to be read after another opening.
            tokens: of the document by the frozen LLM's own tokenizer.
            ends: int64 [pages], bytes up to the end of each page.
        """
        self.about, self.title, self.text_tokens, self._ends = about, title, tokens, ends
        self._kept, self._unread = (opening, memory), pages

    def take(self, pages: Iterator[Page]) -> None:
        """Keep the ids; nothing is read before the first question."""
        self._kept = self._unread = None
        self.ids = np.concatenate([page.ids for page in pages])
        self.admit(len(self.ids))

    def context(self, question: str, max_new_tokens: int) -> Context:
        """The memory, and on top of it the question."""
        opening, closing = self.around(question)
        memory = self.memory(opening)
        room = self.llm.window - memory.cache.get_seq_length() - max_new_tokens
        if len(closing) > room:
            raise UsageError(
                f"{self.title}: what was read, a question of {len(closing)} tokens and its answer exceed the window of "
                f"{self.llm.name} ({self.llm.window}); use --reader expand, which reads only the passages that the "
                "question is about"
            )
        return Context(closing, memory.positions, memory.spans, memory.cache)

    def continuation(self, opening: np.ndarray | None = None) -> Context:
        """The memory alone."""
        memory = self.memory(np.array([self.llm.start], np.int32) if opening is None else opening)
        return Context(np.zeros(0, np.int32), memory.positions, memory.spans, memory.cache)

    def memory(self, opening: np.ndarray) -> Memory:
        """The document as this reader keeps it after `opening`; read when it is first asked for."""
        key = key_of(opening)
        if self._kept is None or self._kept[0] != key:
            self._kept = None  # frees the one before it makes another
            if self._unread is not None:
                self.take(self._unread())
            self._kept = (key, self.remember(opening))
        return self._kept[1]

    def remember_ids(self, opening: np.ndarray, ids: np.ndarray, spans: list[tuple[int, int]]) -> Memory:
        """A memory of plain tokens, int32 [n]."""
        self.check_entries(len(opening) + len(ids))
        return Memory(self.llm.prefill(np.concatenate([opening, ids])), max(1, len(ids)), spans)

    def check_entries(self, count: int) -> None:
        """Refuse a memory that would leave no room for a question.

        Raises:
            UsageError: with the numbers.
        """
        if count >= self.llm.window:
            raise UsageError(
                f"{self.title}: takes {count} tokens with what stands before it and the window of {self.llm.name} is "
                f"{self.llm.window}; use --reader expand, which reads only the passages that the question is about"
            )

    def span(self, first: int, last: int) -> tuple[int, int]:
        """The bytes of the text that ids `first` to `last` (not included) stand for."""
        ends = np.concatenate([[0], np.cumsum(self.llm.vocabulary.sizes[self.ids])])  # [n + 1]
        return int(ends[first]), int(ends[last])


def key_of(opening: np.ndarray) -> str:
    """SHA-256 (hex) of the ids int32 [k] that a document was read after."""
    return hashlib.sha256(np.ascontiguousarray(opening, "<i4").tobytes()).hexdigest()


def check_form(form: str) -> None:
    """Refuse a form that is none of `FORMS`.

    Raises:
        UsageError: naming them.
    """
    if form not in FORMS:
        raise UsageError(f"--latents {form}: choose {', '.join(FORMS[:-1])} or {FORMS[-1]}")
