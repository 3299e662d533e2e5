"""Bytes of tokens as codes. A *code* is a code point, or CODEPOINTS + b for a byte b that is no part of whole UTF-8."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

CODEPOINTS = 0x110000
"""Number of code points of Unicode."""


def split_codes(tokens: Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """Bytes of tokens -> codes: code points where the bytes are whole UTF-8, CODEPOINTS + b for any other byte b.

    Returns:
        codes int64 [c] in reading order, and the index of the token that each belongs to, int64 [c].
    """
    if not tokens:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    # A byte 0xFF is never part of UTF-8, so that it ends every sequence: no character reaches over a token's end.
    text = b"\xff".join(tokens).decode("utf-8", "surrogateescape")
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)
    raw = (codes >= 0xDC80) & (codes <= 0xDCFF)  # how `surrogateescape` passes on a byte that is not UTF-8
    size = np.where(raw, 1, 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000))  # bytes
    offset = np.cumsum(size) - size
    ends = np.cumsum([len(token) + 1 for token in tokens])  # offset just after each token's separator
    owner = np.searchsorted(ends, offset, side="right")
    kept = offset != ends[owner] - 1
    return np.where(raw, codes - 0xDC00 + CODEPOINTS, codes)[kept], owner[kept]


def repeat_ordinals(tokens: Sequence[bytes]) -> np.ndarray:
    """How many earlier tokens have the same bytes: int64 [n]; all 0 where the bytes are distinct."""
    seen: dict[bytes, int] = {}
    out = np.zeros(len(tokens), dtype=np.int64)
    for row, token in enumerate(tokens):
        out[row] = seen.get(token, 0)
        seen[token] = int(out[row]) + 1
    return out
