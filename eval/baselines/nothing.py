"""No context: what the model knows and guesses by itself. Whatever scores no better has read nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vtc.readers.memory import Memory, MemoryReader


@dataclass
class NothingReader(MemoryReader):
    """Reads what stands before the document, and not the document."""

    name: ClassVar[str] = "none"

    def remember(self, opening: np.ndarray) -> Memory:
        """No token of the document; a ratio needs a count, so it is charged one position."""
        return self.remember_ids(opening, self.ids[:0], [])
