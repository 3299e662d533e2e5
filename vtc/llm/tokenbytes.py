"""The bytes that each id of a vocabulary stands for, and their concatenation, without a tokenizer."""

from __future__ import annotations

import hashlib

import numpy as np

from vtc.records.errors import VtcError

CHUNK = 1 << 18
"""Tokens decoded at a time; bounds the index arrays to a few tens of MB."""


class TokenBytes:
    """Byte strings of all ids, kept flat.

    Attributes:
        size: number of ids, V.
        hash: SHA-256 (hex) over size, lengths and bytes: equal hashes decode alike.
    """

    def __init__(self, flat: np.ndarray, lengths: np.ndarray) -> None:
        """Take the bytes of all ids in a row, uint8 [sum of lengths], and the length of each, int [V]."""
        self.size = len(lengths)
        self.flat = flat
        self.lengths = lengths.astype(np.int64)
        self._offsets = np.cumsum(self.lengths) - self.lengths  # [V] into `flat`
        digest = hashlib.sha256(self.size.to_bytes(8, "little"))
        digest.update(self.lengths.astype("<u4").tobytes() + flat.tobytes())
        self.hash = digest.hexdigest()

    @classmethod
    def of(cls, pieces: list[bytes]) -> TokenBytes:
        """From one byte string per id."""
        lengths = np.array([len(piece) for piece in pieces], dtype=np.int64)
        return cls(np.frombuffer(b"".join(pieces), dtype=np.uint8), lengths)

    def decode(self, ids: np.ndarray) -> bytes:
        """Concatenated bytes of ids int [n].

        Raises:
            VtcError: an id is outside the vocabulary.
        """
        ids = np.asarray(ids).reshape(-1)
        if ids.size and not 0 <= ids.min() <= ids.max() < self.size:
            raise VtcError(f"token ids {ids.min()} to {ids.max()} exceed the vocabulary (0 to {self.size - 1})")
        return b"".join(
            self._gather(ids[i : i + CHUNK].astype(np.int64, copy=False)) for i in range(0, ids.size, CHUNK)
        )

    def _gather(self, ids: np.ndarray) -> bytes:
        """Bytes of int64 [n] ids: every output byte is copied from its place in the flat buffer by one index array."""
        lengths = self.lengths[ids]  # [n]
        source = np.repeat(self._offsets[ids] - (np.cumsum(lengths) - lengths), lengths)  # [bytes]
        source += np.arange(source.size)
        return self.flat[source].tobytes()
