"""Compacted key/value latents: the frozen LLM reads a document once and keeps few entries a head of what it read.

Question-agnostic: set once, ask many. The weights are not touched; only what attention sees of the document changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from vtc.readers.base import Context
from vtc.readers.kv.bank.bank import GAP, Bank
from vtc.readers.kv.bank.stored import is_bank, pack_bank, unpack_bank
from vtc.readers.kv.compact import Recipe, compacted
from vtc.readers.kv.storage import pack, unpack
from vtc.readers.kv.surrogate import surrogate
from vtc.readers.memory import Memory, MemoryReader
from vtc.records.errors import UsageError

RESERVE = 256
"""Positions of the window that a document leaves to questions and answers."""


@dataclass
class KvReader(MemoryReader):
    """Keeps 1 / ratio of the document's key/value scalars, unevenly over heads, their values fitted."""

    name: ClassVar[str] = "kv"
    ratio: float = 8.0
    """Tokens of the document for each entry that a head keeps on average."""
    rows: int | None = None
    """Queries a head of each kind that the scores and the fit look at, at most; by default all. Fewer are faster, and
    miss the details that only the queries left out would have looked up."""
    pages: int = 2
    """Pages before the model for a question, at most, where the document is longer than the window. A small model
    hardly reads any but the last one; a larger one may be given more."""
    fast: bool = False
    """Read the document once and predict the scores, instead of reading it twice; see `vtc.readers.kv.surrogate`."""
    score: str = "loss"
    budget: str = "pooled"
    merge: str = "mass"
    fit: str = "ridge"
    recipe: Recipe = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not self.ratio >= 1:
            raise UsageError(f"ratio={self.ratio}: must be at least 1")
        if self.rows is not None and self.rows < 1:
            raise UsageError(f"rows={self.rows}: must be at least 1")
        if self.pages < 1:
            raise UsageError(f"--pages {self.pages}: must be at least 1")
        self.recipe = Recipe(self.score, self.budget, self.merge, self.fit, fast=self.fast)

    def admit(self, tokens: int) -> None:
        """Refuse at once what can not be predicted.

        Raises:
            VtcError: `fast`, and there is no surrogate for this model.
        """
        if self.fast:
            surrogate(self.llm)

    def remember(self, opening: np.ndarray) -> Memory:
        """Read, repeat, compact; what is longer than the window, less room for a question, as a bank of pages."""
        spans = [(0, self.about["text_bytes"])]
        how = (self.llm, opening, self.ids, self.ratio, self.recipe)
        if len(opening) + len(self.ids) <= self.llm.window - RESERVE:
            cache = compacted(*how, rows=self.rows)
            return Memory(cache, cache.entries - len(opening), spans)
        bank = Bank.of(*how, rows=self.rows, progress=True)
        return Memory(bank, sum(page.entries for page in bank.pages), spans)

    def context(self, question: str, max_new_tokens: int) -> Context:
        """The memory, or those of its pages that the question is about, and on top of it the question."""
        opening, closing = self.around(question)
        bank = self.memory(opening).cache
        if not isinstance(bank, Bank):
            return super().context(question, max_new_tokens)
        room = self.llm.window - len(opening) - len(closing) - max_new_tokens - GAP
        pages = bank.fitting(bank.choose(closing, question, self.pages), room)
        if not pages:
            raise UsageError(
                f"a question of {len(closing)} tokens and its answer leave no room for a page in the window of "
                f"{self.llm.name} ({self.llm.window}); shorten the question or lower --max-tokens"
            )
        cache = bank.assemble(pages)
        return Context(closing, cache.entries - len(opening), [bank.spans[page] for page in pages], cache)

    def continuation(self, opening: np.ndarray | None = None) -> Context:
        """The memory alone.

        Raises:
            UsageError: the document is longer than the window; its pages are chosen by a question.
        """
        found = super().continuation(opening)
        if isinstance(found.cache, Bank):
            raise UsageError(
                f"{self.title}: is longer than the window of {self.llm.name} ({self.llm.window}), and then reader "
                "'kv' needs a question; it can not go on with the text"
            )
        return found

    def packed(self, memory: Memory, form: str) -> bytes:
        """As `vtc.readers.kv.storage` writes it."""
        return pack_bank(memory.cache, form) if isinstance(memory.cache, Bank) else pack([memory.cache], form)

    def unpacked(self, blob: bytes) -> Any:
        """As `vtc.readers.kv.storage` reads it."""
        return unpack_bank(blob, self.llm, self.around("")[0]) if is_bank(blob) else unpack(blob, self.llm)[0]
