"""The whole text, uncompressed: the plain form that every other reader is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vtc.readers.memory import Memory, MemoryReader
from vtc.records.errors import UsageError


@dataclass
class TextReader(MemoryReader):
    """Gives the model all of the document; only for one that fits into its window."""

    name: ClassVar[str] = "text"

    def admit(self, tokens: int) -> None:
        """Refuse a document that is longer than the window.

        Raises:
            UsageError: with the numbers.
        """
        if tokens >= self.llm.window:
            raise UsageError(
                f"{self.title}: takes {tokens} tokens and the window of {self.llm.name} is {self.llm.window}; use "
                "--reader expand, which reads only the passages that the question is about"
            )

    def remember(self, opening: np.ndarray) -> Memory:
        """Every token."""
        return self.remember_ids(opening, self.ids, [(0, self.about["text_bytes"])])
