"""Truncation at equal positions: as many plain tokens as a compressed document may take, the rest is dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from vtc.readers.memory import Memory, MemoryReader
from vtc.records.errors import UsageError

Keep = Literal["last", "first"]


@dataclass
class TruncateReader(MemoryReader):
    """Keeps one end of the document."""

    name: ClassVar[str] = "truncate"
    ratio: float = 8.0
    """Tokens of the document for each that is kept."""
    keep: Keep = "last"
    """last: what stands nearest to the question; first: how it begins."""

    def __post_init__(self) -> None:
        check_ratio(self.ratio)
        if self.keep not in get_args(Keep):
            raise UsageError(f"keep={self.keep}: choose {' or '.join(get_args(Keep))}")

    def remember(self, opening: np.ndarray) -> Memory:
        """One stretch of tokens."""
        total, count = len(self.ids), budget(len(self.ids), self.ratio)
        first = total - count if self.keep == "last" else 0
        return self.remember_ids(opening, self.ids[first : first + count], [self.span(first, first + count)])


def budget(tokens: int, ratio: float) -> int:
    """Positions that a document of so many tokens may take at a position ratio."""
    return max(1, round(tokens / ratio))


def check_ratio(ratio: float) -> None:
    """Refuse what is no compression.

    Raises:
        UsageError: the ratio is under 1.
    """
    if not ratio >= 1:
        raise UsageError(f"ratio={ratio}: must be at least 1")
