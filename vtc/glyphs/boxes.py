"""Shapes that need no font: hex boxes for code points and bytes, and the marks of tokens too wide for their cell.

Every shape here is *reserved*: the top row, the bottom row and the left column of its first slot are all ink. The atlas
builder gives no font glyph that outline, so a reserved shape is never taken for a character.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_DIGIT_ROWS = (
    ".#. .#. ### ### #.# ### #.. ### ### ### .#. ##. .## ##. ### ###",
    "#.# ##. ..# ..# #.# #.. #.. ..# #.# #.# #.# #.# #.. #.# #.. #..",
    "#.# .#. ### ### ### ### ### .#. ### ### ### ##. #.. #.# ##. ##.",
    "#.# .#. #.. ..# ..# ..# #.# .#. #.# ..# #.# #.# #.. #.# #.. #..",
    ".#. ### ### ### ..# ### ### .#. ### ##. #.# ##. .## ##. ### #..",
)
_PX = [[[c == "#" for c in glyph] for glyph in row.split()] for row in _DIGIT_ROWS]
DIGITS: np.ndarray = np.array(_PX).swapaxes(0, 1)
"""bool [16, 5, 3]: the hex digits 0-9 and A-F, 5 px high and 3 px wide; any two differ in at least 2 px."""

MAX_COUNT = 999
"""The largest run length that a run-length mark shows."""
HASH_SLOTS = 5
"""Slots of the box that shows a token's 64-bit hash as 16 hex digits."""


@dataclass(frozen=True)
class Boxes:
    """Draws the reserved shapes for one cell geometry."""

    height: int
    """Cell height, px; at least 16."""
    unit: int
    """Width of a half-width slot, px; at least 8."""
    digits: np.ndarray
    """bool [16, 5, 3]: the hex digit font."""

    def of_codepoints(self, cps: np.ndarray) -> np.ndarray:
        """Outlined boxes with 4 hex digits (two rows of two), or 6 (two rows of three) from U+10000 on.

        Args:
            cps: int [n], 0 to 0x10FFFF.

        Returns:
            bool [n, height, 2 * unit].
        """
        cps = np.asarray(cps, dtype=np.int64)
        wide = 2 * self.unit - 1  # px; the last column stays free, so that neighbouring boxes do not touch
        frame = np.zeros((self.height, 2 * self.unit), dtype=bool)
        frame[:, [0, wide - 1]] = True
        frame[0, :wide] = frame[-1, :wide] = True
        out = np.repeat(frame[None], len(cps), axis=0)
        for digit_count, chosen in ((4, cps < 0x10000), (6, cps >= 0x10000)):
            rows = np.flatnonzero(chosen)
            shifts = 4 * np.arange(digit_count - 1, -1, -1)
            values = (cps[rows, None] >> shifts) & 15
            block = self._digit_block(values.reshape(len(rows), 2, digit_count // 2), wide - 2, self.height - 2)
            out[rows, 1:-1, 1 : wide - 1] |= block
        return out

    def of_bytes(self, values: np.ndarray) -> np.ndarray:
        """Filled boxes with two large hex digits left white: bytes that are no part of whole UTF-8.

        Args:
            values: int [n], 0 to 255.

        Returns:
            bool [n, height, 2 * unit].
        """
        values = np.asarray(values, dtype=np.int64)
        digits = np.stack([values >> 4, values & 15], axis=-1)[:, None]
        return self._filled(digits, 2)

    def of_counts(self, values: np.ndarray) -> np.ndarray:
        """Run-length marks: filled boxes with three small decimal digits left white, and the same in binary below.

        Args:
            values: int [n], 0 to `MAX_COUNT`.

        Returns:
            bool [n, height, 2 * unit].
        """
        values = np.asarray(values, dtype=np.int64)
        digits = np.stack([values // 100, values // 10 % 10, values % 10], axis=-1)[:, None]
        out = self._filled(digits, 2, largest=1)
        ticks = (values[:, None] >> np.arange(9, -1, -1)) & 1  # [n, 10]; they keep neighbouring lengths well apart
        out[:, -5:-2, 3:13] &= ticks[:, None] == 0
        return out

    def of_hash(self, digest: bytes) -> np.ndarray:
        """Filled box with the 16 hex digits of an 8-byte digest: bool [height, HASH_SLOTS * unit]."""
        values = np.frombuffer(digest, dtype=np.uint8).astype(np.int64)
        digits = np.stack([values >> 4, values & 15], axis=-1).reshape(1, 2, 8)
        return self._filled(digits, HASH_SLOTS, largest=1)[0]

    def barcode(self, digest: bytes) -> np.ndarray:
        """The 64 bits of an 8-byte digest as px, row by row, in half a slot: bool [height // 2, unit]."""
        out = np.zeros(self.height // 2 * self.unit, dtype=bool)
        out[:64] = np.unpackbits(np.frombuffer(digest, dtype=np.uint8)).astype(bool)
        return out.reshape(self.height // 2, self.unit)

    def mark(self, name: str) -> np.ndarray:
        """One-slot marks, bool [height, unit]: `two-line` (starts two lines), `ellipsis` (ends a cut), `empty`."""
        out = np.ones((self.height, self.unit), dtype=bool)
        middle = self.height // 2
        if name == "two-line":
            out[middle - 1 : middle + 1, 1:-1] = False
        elif name == "ellipsis":
            out[middle - 1 : middle + 1, 1:-1:2] = False
        elif name == "empty":
            out[2:-2, 2:-2] = False
        else:
            raise ValueError(f"no mark is called {name!r}")
        return out

    def _filled(self, digits: np.ndarray, slots: int, largest: int = 99) -> np.ndarray:
        """Ink all over but in the digits int [n, rows, columns] and the last column: bool [n, height, slots * unit]."""
        out = np.ones((len(digits), self.height, slots * self.unit), dtype=bool)
        out[:, :, -1] = False
        out[:, 1:-1, 1:-2] &= ~self._digit_block(digits, slots * self.unit - 3, self.height - 2, largest)
        return out

    def _digit_block(self, values: np.ndarray, width: int, height: int, largest: int = 99) -> np.ndarray:
        """Digits int [n, rows, columns], as large as fits (a whole factor), centred in bool [n, height, width]."""
        count, rows, columns = values.shape
        scale = min((width - columns + 1) // (3 * columns), (height - rows + 1) // (5 * rows), largest)
        tile = self.digits.repeat(scale, axis=1).repeat(scale, axis=2)
        high, wide = 5 * scale, 3 * scale
        gap_y = 2 if rows * high + 2 * (rows - 1) <= height - 2 else 1
        gap_x = 1
        top = (height - rows * high - (rows - 1) * gap_y) // 2
        left = (width - columns * wide - (columns - 1) * gap_x) // 2
        out = np.zeros((count, height, width), dtype=bool)
        for row in range(rows):
            for column in range(columns):
                y, x = top + row * (high + gap_y), left + column * (wide + gap_x)
                out[:, y : y + high, x : x + wide] = tile[values[:, row, column]]
        return out
