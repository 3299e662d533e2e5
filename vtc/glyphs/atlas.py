"""The atlas at run time: any token's clean glyph image, drawn from the artefact that `python -m render.atlas` builds.

Numpy only; no font and no imaging library is needed here. A cell holds one token: its characters from left to right in
half-width slots (a full-width character takes two). Code points without a font glyph, and bytes that are no part of
whole UTF-8, are boxes with their hex digits. Tokens wider than the cell are laid out by `vtc.glyphs.wide`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vtc.glyphs.boxes import Boxes
from vtc.glyphs.codes import CODEPOINTS, split_codes
from vtc.glyphs.wide import draw_wide
from vtc.records.artefact import load_artefact
from vtc.records.errors import VtcError
from vtc.records.paths import artifacts_dir

KIND = "atlas"
VERSION = 1
"""Format of the artefact and of the layout; raised when either changes an image."""
_CHUNK = 2048  # tokens drawn at a time; bounds the unpacked px (1 byte each) to 4 MiB


@dataclass(frozen=True)
class Atlas:
    """Code points and bytes -> bitmaps; tokens -> glyph images."""

    hash: str
    """Content hash (SHA-256, hex) of the artefact."""
    cell_height: int
    """px."""
    cell_width: int
    """px; a whole number of units."""
    unit: int
    """Width of a half-width slot, px."""
    codepoints: np.ndarray = field(repr=False)
    """uint32 [glyphs], rising: the code points that have a font glyph or a drawn mark."""
    widths: np.ndarray = field(repr=False)
    """uint8 [glyphs]: slots taken by each, 1 or 2."""
    slots: np.ndarray = field(repr=False)
    """uint8 [sum of widths, cell_height * unit / 8]: packed bits, the slots of each glyph in order."""
    boxes: Boxes = field(repr=False)
    """Draws everything that has no font glyph."""
    header: dict[str, Any] = field(repr=False)
    """Style, fonts with their hashes, and versions, as the builder recorded them."""
    _starts: np.ndarray = field(init=False, repr=False)
    _index: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        index = np.full(CODEPOINTS, -1, dtype=np.int32)
        index[self.codepoints] = np.arange(len(self.codepoints), dtype=np.int32)
        object.__setattr__(self, "_index", index)
        object.__setattr__(self, "_starts", np.cumsum(self.widths, dtype=np.int64) - self.widths)

    @classmethod
    def load(cls, path: str | Path | None = None) -> Atlas:
        """Load and verify an atlas; without a path the one of the default style.

        Raises:
            VtcError: missing, damaged, foreign, or made by another version.
        """
        path = Path(path) if path is not None else artifacts_dir() / "atlas-default.safetensors"
        if not path.exists():
            raise VtcError(f"{path}: there is no atlas; build it with: python -m render.atlas")
        tensors, header = load_artefact(path, KIND)
        if header.get("version") != VERSION:
            found = header.get("version")
            raise VtcError(f"{path}: atlas of version {found}, this program reads {VERSION}; build it again")
        style = header["style"]
        height, unit = style["cell_height"], style["unit"]
        return cls(
            hash=header["sha256"],
            cell_height=height,
            cell_width=style["cell_width"],
            unit=unit,
            codepoints=tensors["codepoints"],
            widths=tensors["widths"],
            slots=tensors["slots"],
            boxes=Boxes(height, unit, tensors["digits"].astype(bool)),
            header=header,
        )

    @property
    def columns(self) -> int:
        """Slots of a cell."""
        return self.cell_width // self.unit

    def has_glyph(self, cp: int) -> bool:
        """Whether the code point has a font glyph or a drawn mark (otherwise it is a hex box)."""
        return bool(self._index[cp] >= 0)

    def codepoint(self, cp: int) -> np.ndarray:
        """Bitmap of a code point: bool [cell_height, unit] or [cell_height, 2 * unit]."""
        return self._bitmap(cp)

    def byte(self, value: int) -> np.ndarray:
        """Bitmap of a raw byte, 0 to 255: bool [cell_height, 2 * unit]."""
        return self._bitmap(CODEPOINTS + value)

    def draw_tokens(self, tokens: Sequence[bytes], repeats: Sequence[int] | np.ndarray | None = None) -> np.ndarray:
        """Glyph images of whole tokens.

        Different bytes give different images (up to a collision of a 64-bit hash for tokens too wide for one line).

        Args:
            tokens: [n] bytes of each token.
            repeats: int [n] or None. For a vocabulary in which several ids share their bytes: k > 0 draws the k-th
                repeat of the same bytes as an image of its own (see `vtc.glyphs.codes.repeat_ordinals`).

        Returns:
            uint8 [n, cell_height * cell_width / 8]: packed bits, rows of px from top to bottom, 1 = ink.
        """
        codes, owner = split_codes(tokens)
        distinct, which = np.unique(codes, return_inverse=True)
        table, starts, widths = self._slot_table(distinct)
        width = widths[which]  # [codes] slots
        filled = np.bincount(owner, weights=width, minlength=len(tokens)).astype(np.int64)  # [n] slots
        ordinals = np.zeros(len(tokens), np.int64) if repeats is None else np.asarray(repeats, dtype=np.int64)
        wide = (filled > self.columns) | (filled == 0) | (ordinals > 0)

        column = np.cumsum(width) - width  # slots before this code in the whole list ...
        column -= (np.cumsum(filled) - filled)[owner]  # ... less those before its token
        places = np.zeros((len(tokens), self.columns), dtype=np.int32)  # row of `table` per slot; row 0 is blank
        plain = ~wide[owner]
        places[owner[plain], column[plain]] = starts[which[plain]]
        double = plain & (width == 2)
        places[owner[double], column[double] + 1] = starts[which[double]] + 1

        images = np.empty((len(tokens), self.cell_height * self.cell_width // 8), dtype=np.uint8)
        for low in range(0, len(tokens), _CHUNK):
            cells = table[places[low : low + _CHUNK]].swapaxes(1, 2)  # [m, height, columns, unit]
            images[low : low + _CHUNK] = np.packbits(cells.reshape(len(cells), -1), axis=1)
        bounds = np.searchsorted(owner, np.arange(len(tokens) + 1))  # codes of each token
        for row in np.flatnonzero(wide):
            own = codes[bounds[row] : bounds[row + 1]].tolist()
            image = draw_wide(tokens[int(row)], own, int(ordinals[row]), self.columns, self.boxes, self._bitmap)
            images[row] = np.packbits(image.reshape(-1))
        return images

    def unpack(self, images: np.ndarray) -> np.ndarray:
        """Packed images uint8 [n, bytes] -> bool [n, cell_height, cell_width]."""
        return np.unpackbits(images, axis=-1).reshape(-1, self.cell_height, self.cell_width).astype(bool)

    def _bitmap(self, code: int) -> np.ndarray:
        table, starts, widths = self._slot_table(np.array([code]))
        return np.concatenate(list(table[starts[0] : starts[0] + widths[0]]), axis=1)

    def _slot_table(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Slots of codes int [k]: table bool [s, height, unit] with a blank row 0; first rows [k]; widths [k]."""
        known = np.full(len(codes), -1, dtype=np.int64)
        inside = codes < CODEPOINTS
        known[inside] = self._index[codes[inside]]
        widths = np.where(known >= 0, self.widths[known], 2).astype(np.int64)  # a box takes two slots
        starts = 1 + np.cumsum(widths) - widths
        table = np.zeros((1 + int(widths.sum()), self.cell_height, self.unit), dtype=bool)

        for extra in (0, 1):
            rows = np.flatnonzero((known >= 0) & (widths > extra))
            packed = self.slots[self._starts[known[rows]] + extra]
            table[starts[rows] + extra] = np.unpackbits(packed, axis=1).reshape(-1, self.cell_height, self.unit)
        boxed = np.flatnonzero(inside & (known < 0))
        raw = np.flatnonzero(~inside)
        for rows, drawn in (
            (boxed, self.boxes.of_codepoints(codes[boxed])),
            (raw, self.boxes.of_bytes(codes[raw] - CODEPOINTS)),
        ):
            table[starts[rows]] = drawn[:, :, : self.unit]
            table[starts[rows] + 1] = drawn[:, :, self.unit :]
        return table, starts, widths
