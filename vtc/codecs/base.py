"""What every codec does: pages of symbols to stored latents and back."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np


@dataclass(frozen=True)
class CodedPage:
    """One page as a document stores it."""

    symbols: int
    """Number of symbols on the page."""
    checksum: int
    """`page_checksum` of the symbols; decoding that does not reproduce it has failed."""
    latents: np.ndarray
    """uint8 [latents, latent_bytes]: each row one latent in the codec's storage format."""
    side: bytes
    """Everything else that decoding needs (alphabet, densities, priors); counted in `byte_ratio`."""


@dataclass(frozen=True)
class DecodedPage:
    """What came back from one page."""

    ids: np.ndarray
    """int32 [symbols]: best guess for every symbol, also when the page failed."""
    confidence: np.ndarray
    """float32 [symbols]: posterior probability of each guess, 0 to 1."""
    exact: bool
    """Whether the ids reproduce the page's checksum."""


def page_checksum(ids: np.ndarray) -> int:
    """CRC-32 of the ids as little-endian uint32."""
    return zlib.crc32(np.ascontiguousarray(ids, dtype="<u4").tobytes())


class Codec(ABC):
    """Pages of symbols <-> latents. One dataclass, one file; found by name in `vtc.records.registry`."""

    name: ClassVar[str]

    @abstractmethod
    def encode(self, pages: Sequence[np.ndarray]) -> list[CodedPage]:
        """Fold pages of ids (int [n] each, n >= 1) into latents. A codec that promises exactness verifies here."""

    @abstractmethod
    def decode(self, pages: Sequence[CodedPage]) -> list[DecodedPage]:
        """Restore pages. Never raises for damaged latents: `exact` says so, and the ids are the best guess."""

    @abstractmethod
    def config(self) -> dict[str, Any]:
        """JSON-able keyword arguments that rebuild this codec beside the same glyph table."""

    @property
    @abstractmethod
    def latent_bytes(self) -> int:
        """Stored bytes of one latent."""
