"""Pages of text as passages: the few hundred bytes that belong together, whatever pages they stand on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

ENDS = tuple(mark.encode() for mark in ("\n\n", "\n", "。", ". ", " "))
"""Where a passage may end, best first: a paragraph, a line, a sentence, a word."""


@dataclass(frozen=True)
class Passage:
    """A stretch of the text."""

    start: int
    """Bytes of text before it."""
    text: bytes

    @property
    def stop(self) -> int:
        """Bytes of text up to its end."""
        return self.start + len(self.text)


def iter_passages(pages: Iterable[bytes], size: int) -> Iterator[Passage]:
    """Cut a text that arrives in pages into passages of `size // 2` to `size` bytes (size >= 8); the last may be less.

    A passage ends at the last of the best `ENDS` in its second half, else before a UTF-8 sequence that would be cut.
    """
    held, start = b"", 0
    for page in pages:
        held += page
        used = 0
        while len(held) - used > size:
            stop = used + cut(held[used : used + size + 1])
            yield Passage(start + used, held[used:stop])
            used = stop
        held, start = held[used:], start + used
    if held:
        yield Passage(start, held)


def cut(window: bytes) -> int:
    """Where to end a passage in a window, whose last byte only shows what follows: from half of it to before that."""
    size = len(window) - 1
    for mark in ENDS:
        at = window.rfind(mark, size // 2, size)
        if at >= 0:
            return at + len(mark)
    whole = size
    while size - whole < 3 and window[whole] & 0xC0 == 0x80:
        whole -= 1
    return whole if window[whole] & 0xC0 != 0x80 else size  # four in a row are not UTF-8
