"""Compacted key/value latents: the frozen LLM reads a document once and keeps few entries a head of what it read.

Question-agnostic: set once, ask many. The weights are not touched; only what attention sees of the document changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from vtc.readers.kv.compact import Recipe, compacted
from vtc.readers.kv.storage import pack, unpack
from vtc.readers.memory import Memory, MemoryReader
from vtc.records.errors import UsageError


@dataclass
class KvReader(MemoryReader):
    """Keeps 1 / ratio of the document's key/value scalars, unevenly over heads, their values fitted."""

    name: ClassVar[str] = "kv"
    ratio: float = 8.0
    """Tokens of the document for each entry that a head keeps on average."""
    rows: int | None = None
    """Queries a head of each kind that the scores and the fit look at, at most; by default all. Fewer are faster, and
    miss the details that only the queries left out would have looked up."""
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
        self.recipe = Recipe(self.score, self.budget, self.merge, self.fit)

    def admit(self, tokens: int) -> None:
        """Refuse what the window does not hold."""
        self.check_entries(tokens)

    def remember(self, opening: np.ndarray) -> Memory:
        """Read, repeat, compact."""
        self.check_entries(len(opening) + len(self.ids))
        cache = compacted(self.llm, opening, self.ids, self.ratio, self.recipe, rows=self.rows)
        return Memory(cache, cache.entries - len(opening), [(0, self.about["text_bytes"])])

    def packed(self, memory: Memory, form: str) -> bytes:
        """As `vtc.readers.kv.storage` writes it."""
        return pack([memory.cache], form)

    def unpacked(self, blob: bytes) -> Any:
        """As `vtc.readers.kv.storage` reads it."""
        return unpack(blob, self.llm)[0]
