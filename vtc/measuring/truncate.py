"""The control of every reader: plain tokens from the end of the document, as many as the ratio leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vtc.readers.memory import Memory, MemoryReader


@dataclass
class LastTokens(MemoryReader):
    """Keeps the last n / ratio tokens, which help most with what follows."""

    name: ClassVar[str] = "truncate"
    ratio: float = 8.0
    """Tokens of the document for each that is kept."""

    def remember(self, opening: np.ndarray) -> Memory:
        """The end of the document."""
        total = len(self.ids)
        first = total - max(1, round(total / self.ratio))
        return self.remember_ids(opening, self.ids[first:], [self.span(first, total)])
