"""Fixed random signs that are the same on every machine and in every version of every library."""

from __future__ import annotations

import hashlib
import math
from functools import lru_cache

import numpy as np


@lru_cache(maxsize=16)
def signs(label: str, shape: tuple[int, ...]) -> np.ndarray:
    """float32 [shape] of +-1, from the bits of SHAKE-256 over `label`; do not write into it."""
    count = math.prod(shape)
    stream = hashlib.shake_256(f"vtc {label}".encode()).digest(-(-count // 8))
    bits = np.unpackbits(np.frombuffer(stream, np.uint8), count=count)
    return (bits.astype(np.float32) * 2 - 1).reshape(shape)
