"""Latents as stored bytes: float32, float16, or 8 / 6 / 4 / 3 bits a dimension with one float16 scale per latent.

The integer forms are uniform mid-rise quantisers whose step is the optimum for a Gaussian source (Max 1960): a latent
is a sum of many independent terms, so its coordinates are close to Gaussian.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

STEPS = {8: 0.0308, 6: 0.1041, 4: 0.3352, 3: 0.5860}
"""Bits -> optimal step in standard deviations, for a Gaussian (Max 1960, table II; 6 and 8 bits by his equations)."""
NOISE = {"float32": 1e-14, "float16": 2.0**-22 / 6, "int8": 1.0e-4, "int6": 1.04e-3, "int4": 1.154e-2, "int3": 3.744e-2}
"""Storage -> expected squared error relative to the latent's mean square."""
TINY = float(np.finfo(np.float16).tiny)


class Stored(NamedTuple):
    """Stored latents, float32 [n, width] each: values, and the intervals they were rounded from (maybe infinite)."""

    values: np.ndarray
    low: np.ndarray
    high: np.ndarray


def latent_bytes(storage: str, width: int) -> int:
    """Bytes of one stored latent."""
    if storage.startswith("float"):
        return int(storage[5:]) // 8 * width
    return 2 + -(-width * int(storage[3:]) // 8)


def pack(latents: np.ndarray, storage: str) -> np.ndarray:
    """float32 [n, width] -> uint8 [n, latent_bytes]."""
    if storage.startswith("float"):
        return np.ascontiguousarray(latents, f"<f{int(storage[5:]) // 8}").view(np.uint8)
    bits, width = int(storage[3:]), latents.shape[1]
    half = 2 ** (bits - 1)
    scale = (latents.std(1, keepdims=True) * STEPS[bits]).astype("<f2")
    level = np.floor(latents / np.maximum(scale.astype(np.float32), TINY))
    level = np.clip(level, -half, half - 1).astype(np.int16) + half
    planes = np.unpackbits(level.astype(np.uint8)[:, :, None], axis=2)[:, :, 8 - bits :]
    return np.concatenate([scale.view(np.uint8), np.packbits(planes.reshape(len(latents), width * bits), axis=1)], 1)


def unpack(rows: np.ndarray, storage: str, width: int) -> Stored:
    """uint8 [n, latent_bytes] -> values and intervals; not-a-number and infinity (damage) become 0."""
    rows = np.ascontiguousarray(rows)
    if storage.startswith("float"):
        kind = np.dtype(f"<f{int(storage[5:]) // 8}")
        values = np.nan_to_num(rows.view(kind).reshape(len(rows), width), posinf=0, neginf=0)
        exact = values.astype(np.float32)
        with np.errstate(over="ignore"):  # damage can be as large as the format goes
            below, above = (np.nextafter(values, kind.type(edge)).astype(np.float32) for edge in (-np.inf, np.inf))
            return Stored(exact, (exact + below) / 2, (exact + above) / 2)
    bits = int(storage[3:])
    scale = np.nan_to_num(rows[:, :2].copy().view("<f2").astype(np.float32), posinf=0, neginf=0)
    step = np.maximum(scale, TINY)
    planes = np.unpackbits(rows[:, 2:], axis=1)[:, : width * bits].reshape(len(rows), width, bits)
    level = (planes @ (1 << np.arange(bits - 1, -1, -1))).astype(np.float32) - 2 ** (bits - 1)
    low = np.where(level == -(2 ** (bits - 1)), -np.inf, level * step)
    high = np.where(level == 2 ** (bits - 1) - 1, np.inf, (level + 1) * step)
    return Stored((level + 0.5) * step, low.astype(np.float32), high.astype(np.float32))
