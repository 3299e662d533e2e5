"""Latents as stored bytes: float32, float16, or 8 / 6 / 4 / 3 bits a dimension with one float16 scale per latent.

The integer forms are uniform mid-rise quantisers whose step is the optimum for a Gaussian source (Max 1960): a latent is a sum of
many independent terms, so its coordinates are close to Gaussian.
"""

from __future__ import annotations

import numpy as np

STEPS = {8: 0.0308, 6: 0.1041, 4: 0.3352, 3: 0.5860}
"""Bits -> optimal step in units of the standard deviation, for a Gaussian (Max 1960, table II; 8 bits by the same equations)."""
NOISE = {"float32": 1e-13, "float16": 2.0**-22 / 6, "int8": 1.2e-4, "int6": 1.05e-3, "int4": 1.155e-2, "int3": 3.75e-2}
"""Storage -> expected squared error relative to the latent's mean square."""


def latent_bytes(storage: str, width: int) -> int:
    """Bytes of one stored latent."""
    if storage == "float32":
        return 4 * width
    if storage == "float16":
        return 2 * width
    return 2 + -(-width * int(storage[3:]) // 8)


def pack(latents: np.ndarray, storage: str) -> np.ndarray:
    """float32 [n, width] -> uint8 [n, latent_bytes]."""
    if storage in ("float32", "float16"):
        kind = "<f4" if storage == "float32" else "<f2"
        return np.ascontiguousarray(latents.astype(kind)).view(np.uint8).reshape(len(latents), -1)
    bits = int(storage[3:])
    half = 2 ** (bits - 1)
    scale = (latents.std(1, keepdims=True) * STEPS[bits]).astype("<f2")
    step = np.maximum(scale.astype(np.float32), np.finfo(np.float16).tiny)
    level = np.clip(np.floor(latents / step), -half, half - 1).astype(np.int16) + half
    planes = np.unpackbits(level.astype(np.uint8)[:, :, None], axis=2)[:, :, 8 - bits :]
    return np.concatenate([scale.view(np.uint8), np.packbits(planes.reshape(len(latents), -1), axis=1)], 1)


def unpack(rows: np.ndarray, storage: str, width: int) -> np.ndarray:
    """uint8 [n, latent_bytes] -> float32 [n, width]; not-a-number and infinity (damage) become 0."""
    rows = np.ascontiguousarray(rows)
    if storage in ("float32", "float16"):
        kind = "<f4" if storage == "float32" else "<f2"
        return np.nan_to_num(rows.view(kind).reshape(len(rows), width).astype(np.float32), posinf=0, neginf=0)
    bits = int(storage[3:])
    scale = np.nan_to_num(rows[:, :2].copy().view("<f2").astype(np.float32), posinf=0, neginf=0)
    step = np.maximum(scale, np.finfo(np.float16).tiny)
    planes = np.unpackbits(rows[:, 2:], axis=1)[:, : width * bits].reshape(len(rows), width, bits)
    level = planes @ (1 << np.arange(bits - 1, -1, -1))
    return ((level - 2 ** (bits - 1) + 0.5) * step).astype(np.float32)
