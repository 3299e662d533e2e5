"""Raw token ids, one latent per symbol: the baseline that every byte ratio is set beside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from vtc.codecs.base import Codec, CodedPage, DecodedPage, page_checksum
from vtc.records.errors import UsageError

DTYPES: dict[str, np.dtype[Any]] = {"uint16": np.dtype("<u2"), "uint32": np.dtype("<u4")}


@dataclass
class IdsCodec(Codec):
    """Stores every symbol's id as it is. Exact by construction; latent_ratio is 1."""

    name: ClassVar[str] = "ids"
    table: Any
    """The glyph table (`features` [V, r]); only its number of symbols is used."""
    storage: str = "auto"
    """Bytes of an id: `uint16`, `uint32`, or `auto`, the smaller that holds the vocabulary."""

    def __post_init__(self) -> None:
        self._symbols = len(self.table.features)
        if self.storage == "auto":
            self.storage = "uint16" if self._symbols <= 1 << 16 else "uint32"
        if self.storage not in DTYPES:
            raise UsageError(f"--storage {self.storage}: codec 'ids' stores {' or '.join(DTYPES)}")
        if self._symbols > 1 << 16 and self.storage == "uint16":
            raise UsageError(f"--storage uint16: holds 65536 symbols, the vocabulary has {self._symbols}; use uint32")

    def encode(self, pages: Sequence[np.ndarray]) -> list[CodedPage]:
        """Each page's latents are uint8 [symbols, latent_bytes], little-endian."""
        dtype = DTYPES[self.storage]
        rows = [np.ascontiguousarray(ids, dtype).view(np.uint8).reshape(len(ids), dtype.itemsize) for ids in pages]
        return [CodedPage(len(ids), page_checksum(ids), row, side=b"") for ids, row in zip(pages, rows, strict=True)]

    def decode(self, pages: Sequence[CodedPage]) -> list[DecodedPage]:
        """Ids as stored; one that no symbol has becomes the last symbol, which the checksum then shows."""
        decoded = []
        for page in pages:
            stored = np.ascontiguousarray(page.latents).view(DTYPES[self.storage]).reshape(-1)
            ids = np.minimum(stored, self._symbols - 1).astype(np.int32)
            exact = page_checksum(ids) == page.checksum
            decoded.append(DecodedPage(ids, np.full(len(ids), float(exact), np.float32), exact))
        return decoded

    def config(self) -> dict[str, Any]:
        """Width is 1: a latent is one number."""
        return {"storage": self.storage}

    @property
    def latent_bytes(self) -> int:
        """2 or 4."""
        return DTYPES[self.storage].itemsize
