"""Glyph image -> symbol, by content."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class CellIndex:
    """Glyph images sorted by a 64-bit multilinear hash; every match is compared in full, so that look-up is exact."""

    images: np.ndarray
    """uint8 [symbols, bytes], all different."""
    _factors: np.ndarray = field(init=False, repr=False)
    _sorted: np.ndarray = field(init=False, repr=False)
    _order: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for seed in range(8):  # a collision of two keys is rare; other factors part them
            random = np.random.default_rng(seed)
            self._factors = random.integers(0, 1 << 64, -(-self.images.shape[1] // 4), dtype=np.uint64) | np.uint64(1)
            keys = self._keys(self.images)
            self._order = np.argsort(keys, kind="stable")
            self._sorted = keys[self._order]
            if not (self._sorted[1:] == self._sorted[:-1]).any():
                return
        raise ValueError("the glyph images are not all different")

    def ids(self, images: np.ndarray) -> np.ndarray:
        """Row of each image uint8 [n, bytes] in the table: int64 [n], -1 where the table has no such image."""
        if images.shape[1] != self.images.shape[1]:
            return np.full(len(images), -1, dtype=np.int64)
        keys = self._keys(images)
        place = np.minimum(np.searchsorted(self._sorted, keys), len(self._sorted) - 1)
        found = self._order[place].astype(np.int64)
        return np.where((self.images[found] == images).all(axis=1), found, -1)

    def _keys(self, images: np.ndarray) -> np.ndarray:
        padded = np.pad(images, ((0, 0), (0, -images.shape[1] % 4)))
        words = np.ascontiguousarray(padded).view("<u4").astype(np.uint64)
        return words @ self._factors  # modulo 2^64
