"""The whole text, uncompressed: the plain form that every other reader is compared with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from vtc.readers.base import Context, Page, Reader
from vtc.records.errors import UsageError


@dataclass
class TextReader(Reader):
    """Gives the model all of the document; only for one that fits into its window."""

    name: ClassVar[str] = "text"
    _text: bytes = field(init=False, repr=False, default=b"")

    def admit(self, tokens: int) -> None:
        """Refuse a document that is longer than the window.

        Raises:
            UsageError: with the numbers.
        """
        if tokens >= self.llm.window:
            raise self._too_long(tokens, "")

    def take(self, pages: Iterator[Page]) -> None:
        """Join the pages; those of a document that turns out too long are counted, but not kept."""
        kept: list[bytes] = []
        tokens = 0
        for page in pages:
            tokens += len(page.ids)
            if tokens < self.llm.window:
                kept.append(page.text)
        self.admit(tokens)
        self._text = b"".join(kept)

    def context(self, question: str, max_new_tokens: int) -> Context:
        """All of the text, then the question."""
        room = self.room(question, max_new_tokens)
        context = self.text_context(self._text, [(0, len(self._text))], question)
        if context.positions > room:
            raise self._too_long(context.positions, f", which leaves {room} beside the question and its answer")
        return context

    def _too_long(self, tokens: int, beside: str) -> UsageError:
        return UsageError(
            f"{self.title}: takes {tokens} tokens and the window of {self.llm.name} is {self.llm.window}{beside}; "
            "use --reader expand, which reads only the passages that the question is about"
        )
