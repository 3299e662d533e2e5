"""Tells glyphs apart that fonts draw alike: Latin, Greek and Cyrillic A, variants of one Han character, near copies.

Any two glyphs of equal width come to differ in at least `min_distance` px. Where a glyph is too near to an earlier one,
a few 2 x 2 px squares along its bottom and top edge are inverted: the first pattern that is far enough from the others.

Neighbours are found by chunks (multi-index hashing: Norouzi, Punjani and Fleet, CVPR 2012): the px are dealt into
`min_distance` chunks, and two bitmaps that differ in fewer px agree in one chunk at least.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import chain

import numpy as np

_COMMON = (
    (0x20, 0xFF),
    (0x391, 0x3C9),
    (0x400, 0x45F),
    (0x100, 0x17F),
    (0x3000, 0x30FF),
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7A3),
)
"""Code points that keep their clean shape when another one looks alike; earlier ranges go before later ones."""
_SCRIPTS = (((0x370, 0x3FF), (0x1F00, 0x1FFF)), ((0x400, 0x52F), (0x1C80, 0x1C8F), (0x2DE0, 0x2DFF)))
"""Greek tries the first pattern (bottom left) first, Cyrillic the second (bottom right)."""


def tell_apart(
    glyphs: dict[int, np.ndarray], fixed: Iterable[int], min_distance: int
) -> tuple[dict[int, np.ndarray], list[int]]:
    """Mark glyphs until all are far enough from each other and none can be taken for another in a row of slots.

    Besides the distance, it makes sure that no left half of a full-width glyph equals a half-width glyph, and that no
    glyph has the outline of a reserved shape (`vtc.glyphs.boxes`): from left to right, a row of slots has one meaning.

    Args:
        glyphs: code point -> bool [height, unit or 2 * unit]; not changed.
        fixed: code points that are never marked (hand-drawn ones); they must be far enough from each other.
        min_distance: px.

    Returns:
        The glyphs, and the code points that were marked.

    Raises:
        ValueError: two fixed glyphs are too near, or no pattern is left.
    """
    never = set(fixed)
    order = sorted(glyphs, key=lambda cp: (cp not in never, _rank(cp), cp))
    half_width = min(glyph.shape[1] for glyph in glyphs.values())
    halves = _Neighbours(min_distance)
    half_values: set[int] = set()
    out: dict[int, np.ndarray] = {}
    marked: list[int] = []
    for slots in (1, 2):
        known = halves if slots == 1 else _Neighbours(min_distance)
        same_width = [cp for cp in order if glyphs[cp].shape[1] == slots * half_width]
        if not same_width:
            continue
        patterns = _patterns(glyphs[same_width[0]].shape)
        avoid = half_values if slots == 2 else None
        for cp in same_width:
            glyph, used = _place(cp, glyphs[cp], cp in never, patterns, known, avoid, half_width)
            out[cp] = glyph
            if used:
                marked.append(cp)
            if slots == 1:
                half_values.add(_as_int(glyph))
    return out, marked


def _rank(cp: int) -> int:
    return next((i for i, (low, high) in enumerate(_COMMON) if low <= cp <= high), len(_COMMON))


def _place(
    cp: int,
    glyph: np.ndarray,
    fixed: bool,
    patterns: list[np.ndarray],
    known: _Neighbours,
    halves: set[int] | None,
    unit: int,
) -> tuple[np.ndarray, bool]:
    """The glyph under the first pattern (none, if possible) that conflicts with nothing; it joins `known`."""
    plain = np.zeros_like(glyph)
    preferred = [patterns[i] for i, ranges in enumerate(_SCRIPTS) if any(a <= cp <= b for a, b in ranges)]
    for pattern in [plain] if fixed else chain([plain], preferred, patterns):
        candidate = glyph ^ pattern
        if reserved_outline(candidate[:, :unit]) or not candidate.any():
            continue
        if halves is not None and _as_int(candidate[:, :unit]) in halves:
            continue
        if known.add(_as_int(candidate), glyph.size):
            return candidate, pattern is not plain
    raise ValueError(f"U+{cp:04X}: {'the drawing' if fixed else 'every marked form'} is too near to another glyph")


def reserved_outline(slot: np.ndarray) -> bool:
    """Whether a first slot bool [height, unit] has the outline of a reserved shape: top, bottom and left all ink."""
    return bool(slot[0].all() and slot[-1].all() and slot[:, 0].all())


class _Neighbours:
    """Bitmaps as integers, indexed by chunks, to find those nearer than a distance."""

    def __init__(self, min_distance: int) -> None:
        self.min_distance = min_distance
        self.buckets: list[defaultdict[int, list[int]]] = [defaultdict(list) for _ in range(min_distance)]
        self.masks: list[int] = []

    def add(self, value: int, bits: int) -> bool:
        """Add a bitmap unless one nearer than `min_distance` is there; says whether it was added."""
        if not self.masks:
            # px i goes to chunk i mod min_distance: each chunk sees the whole glyph, so that few bitmaps share a chunk
            self.masks = [sum(1 << i for i in range(c, bits, self.min_distance)) for c in range(self.min_distance)]
        keys = [value & mask for mask in self.masks]
        for bucket, key in zip(self.buckets, keys, strict=True):
            if any((value ^ other).bit_count() < self.min_distance for other in bucket.get(key, ())):
                return False
        for bucket, key in zip(self.buckets, keys, strict=True):
            bucket[key].append(value)
        return True


def _as_int(glyph: np.ndarray) -> int:
    return int.from_bytes(np.packbits(glyph).tobytes(), "big")


def _patterns(shape: tuple[int, ...]) -> list[np.ndarray]:
    """Masks of inverted 2 x 2 px squares, fewest squares first: from the bottom corners inwards, then the top."""
    height, width = shape
    across = width // 2
    order = sorted(range(across), key=lambda i: min(i, across - 1 - i))  # from the corners inwards
    places = [(height - 2, 2 * i) for i in order] + [(0, 2 * i) for i in order]
    out = []
    for code in sorted(range(1, 1 << min(len(places), 10)), key=lambda c: (c.bit_count(), c)):
        mask = np.zeros(shape, dtype=bool)
        for bit, (y, x) in enumerate(places):
            if code >> bit & 1:
                mask[y : y + 2, x : x + 2] = True
        out.append(mask)
    return out
