"""Text at equal budget: whole stretches of plain text from all over the document, as many as the positions allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eval.baselines.truncate import budget, check_ratio
from vtc.readers.memory import Memory, MemoryReader
from vtc.records.errors import UsageError


@dataclass
class SpreadReader(MemoryReader):
    """Keeps stretches of `stretch` tokens at even distances, the first and the last of the document among them.

    It knows no question, and unlike truncation it does not bet on where the answer stands.
    """

    name: ClassVar[str] = "spread"
    ratio: float = 8.0
    """Tokens of the document for each that is kept."""
    stretch: int = 32
    """Tokens of a stretch: about a sentence."""

    def __post_init__(self) -> None:
        check_ratio(self.ratio)
        if self.stretch < 1:
            raise UsageError(f"stretch={self.stretch}: must be at least 1")

    def remember(self, opening: np.ndarray) -> Memory:
        """The stretches in the document's order."""
        bounds = stretches(len(self.ids), budget(len(self.ids), self.ratio), self.stretch)
        ids = np.concatenate([self.ids[first:last] for first, last in bounds])
        return self.remember_ids(opening, ids, [self.span(first, last) for first, last in bounds])


def stretches(total: int, count: int, size: int) -> list[tuple[int, int]]:
    """Bounds of disjoint stretches, `count` of `total` tokens together; the last may be shorter than `size`."""
    sizes = [size] * (count // size) + ([count % size] if count % size else [])
    gaps = np.linspace(0, total - count, len(sizes)).round().astype(int) if len(sizes) > 1 else [total - count]
    starts = np.asarray(gaps) + np.cumsum([0, *sizes[:-1]])
    return [(int(start), int(start) + length) for start, length in zip(starts, sizes, strict=True)]
