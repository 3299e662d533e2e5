"""Cells of tokens that do not fit on one line: run lengths, two lines of half height, or a cut with a hash.

The forms are told from plain cells, and from each other, by reserved shapes (see `vtc.glyphs.boxes`):

* *runs*: plain, but a run of more than 4 equal characters is the character and a run-length mark;
* *two lines*: a `two-line` mark, two lines whose px rows are joined in pairs (OR), and the 64 bits of the token's hash;
* *cut*: the first characters, an `ellipsis` mark, and a box with the 16 hex digits of the token's hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from itertools import groupby

import numpy as np

from vtc.glyphs.boxes import HASH_SLOTS, MAX_COUNT, Boxes

_SHORTEST_RUN = 5
Bitmap = Callable[[int], np.ndarray]


def draw_wide(token: bytes, codes: list[int], ordinal: int, columns: int, boxes: Boxes, bitmap: Bitmap) -> np.ndarray:
    """Image of a token that is wider than the cell, empty, or a repeat of the same bytes.

    Args:
        token: its bytes.
        codes: the same as codes (see `vtc.glyphs.codes`).
        ordinal: how many earlier tokens have the same bytes.
        columns: slots of the cell.
        boxes: draws the reserved shapes.
        bitmap: code -> bool [height, unit or 2 * unit].

    Returns:
        bool [height, columns * unit].
    """
    digest = hashlib.blake2b(token, digest_size=8, salt=ordinal.to_bytes(8, "little")).digest()
    image: np.ndarray | None = None
    if not codes and not ordinal:
        image = _line([boxes.mark("empty")], columns, boxes)
    elif not ordinal:
        image = _runs(codes, columns, boxes, bitmap)
        if image is None:
            image = _two_lines(codes, digest, columns, boxes, bitmap)
    return _cut(codes, digest, columns, boxes, bitmap) if image is None else image


def _line(parts: list[np.ndarray], columns: int, boxes: Boxes) -> np.ndarray:
    """Shapes side by side, blank to the right: bool [height, columns * unit]."""
    row = np.concatenate(parts, axis=1)
    return np.pad(row, ((0, 0), (0, columns * boxes.unit - row.shape[1])))


def _runs(codes: list[int], columns: int, boxes: Boxes, bitmap: Bitmap) -> np.ndarray | None:
    parts: list[np.ndarray] = []
    for code, group in groupby(codes):
        count = len(list(group))
        if count > MAX_COUNT:
            return None
        if count < _SHORTEST_RUN:
            parts += [bitmap(code)] * count
        else:
            parts += [bitmap(code), boxes.of_counts(np.array([count]))[0]]
        if sum(part.shape[1] for part in parts) > columns * boxes.unit:
            return None
    return _line(parts, columns, boxes)


def _two_lines(codes: list[int], digest: bytes, columns: int, boxes: Boxes, bitmap: Bitmap) -> np.ndarray | None:
    room = (columns - 1) * boxes.unit  # px of each line, after the mark
    if len(codes) * boxes.unit > 2 * room:
        return None
    lines: list[list[np.ndarray]] = [[], []]
    current, x = 0, 0
    for part in map(bitmap, codes):
        if current == 0 and x + part.shape[1] > room:
            current, x = 1, 0
        lines[current].append(part)
        x += part.shape[1]
    if current == 0 or x > room - boxes.unit:  # the second line keeps its last slot for the hash
        return None
    image = np.zeros((boxes.height, columns * boxes.unit), dtype=bool)
    image[:, : boxes.unit] = boxes.mark("two-line")
    half = boxes.height // 2
    for row, line in enumerate(lines):
        full = np.concatenate(line, axis=1)
        image[row * half : (row + 1) * half, boxes.unit : boxes.unit + full.shape[1]] = full[0::2] | full[1::2]
    image[half:, -boxes.unit :] = boxes.barcode(digest)
    return image


def _cut(codes: list[int], digest: bytes, columns: int, boxes: Boxes, bitmap: Bitmap) -> np.ndarray:
    room = (columns - HASH_SLOTS - 1) * boxes.unit  # px
    parts: list[np.ndarray] = []
    for code in codes:
        part = bitmap(code)
        room -= part.shape[1]
        if room < 0:
            break
        parts.append(part)
    return _line([*parts, boxes.mark("ellipsis"), boxes.of_hash(digest)], columns, boxes)
