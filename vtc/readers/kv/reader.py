"""Compacted key/value latents: the frozen LLM reads a document once and keeps few entries a head of what it read.

Question-agnostic: set once, ask many. The weights are not touched; only what attention sees of the document changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from vtc.readers.kv.compact import Recipe, compact
from vtc.readers.kv.observe import observe
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
    score: str = "balanced"
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

    def remember(self, opening: np.ndarray) -> Memory:
        """Read, repeat, compact."""
        most = (self.llm.window - len(opening)) // 2 - 32  # the repetition stands behind the document
        if len(self.ids) > most:
            raise UsageError(
                f"{self.title}: takes {len(self.ids)} tokens and reader 'kv' can read {most} with the window of "
                f"{self.llm.name}; use --reader expand, which reads only the passages that the question is about"
            )
        cache = compact(observe(self.llm, opening, self.ids, self.rows), self.ratio, self.recipe)
        return Memory(cache, cache.entries - len(opening), [(0, self.about["text_bytes"])])
