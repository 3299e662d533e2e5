"""Stored latents: each value lies in its interval, the noise is the published one, damage becomes zero."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vtc.codecs.storage import NOISE, STEPS, latent_bytes, pack, unpack

ALL = list(NOISE)
PUBLISHED = {3: (0.5860, 0.03744), 4: (0.3352, 0.01154)}  # Max 1960, table II: step and mean squared error
BYTES = {"float32": 5120, "float16": 2560, "int8": 1282, "int6": 962, "int4": 642, "int3": 482}


def gaussian(rows: int, width: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal((rows, width)) * scale).astype(np.float32)


@settings(deadline=None)
@given(
    storage=st.sampled_from(ALL),
    width=st.sampled_from([32, 64, 96, 576, 1280]),
    rows=st.integers(0, 5),
    seed=st.integers(0, 999),
    power=st.integers(-3, 3),
)
def test_values_lie_in_their_intervals(storage: str, width: int, rows: int, seed: int, power: int) -> None:
    latents = gaussian(rows, width, seed, 10.0**power)
    packed = pack(latents, storage)
    assert (packed.dtype, packed.shape) == (np.uint8, (rows, latent_bytes(storage, width)))
    stored = unpack(packed, storage, width)
    for part in stored:
        assert (part.dtype, part.shape) == (np.float32, (rows, width))
    assert (stored.low <= latents).all() and (latents <= stored.high).all()
    assert (stored.low <= stored.values).all() and (stored.values <= stored.high).all()
    if storage.startswith("float"):
        np.testing.assert_array_equal(stored.values, latents.astype(f"f{int(storage[5:]) // 8}").astype(np.float32))
    elif rows:
        step = np.diff(np.unique(stored.values[0]))
        finite = np.isfinite(stored.low[0]) & np.isfinite(stored.high[0])
        np.testing.assert_allclose((stored.high - stored.low)[0, finite], step.min(), rtol=1e-3)


@pytest.mark.parametrize("storage", ALL)
def test_bytes_of_a_latent(storage: str) -> None:
    assert latent_bytes(storage, 1280) == BYTES[storage]


@pytest.mark.parametrize("storage", ALL[1:])
def test_noise_on_gaussian_latents(storage: str) -> None:
    latents = gaussian(100, 1280)
    error = (unpack(pack(latents, storage), storage, 1280).values - latents).astype(np.float64)
    assert (error**2).mean() / (latents.astype(np.float64) ** 2).mean() == pytest.approx(NOISE[storage], rel=0.15)


def test_float32_is_lossless() -> None:
    latents = gaussian(3, 64)
    np.testing.assert_array_equal(unpack(pack(latents, "float32"), "float32", 64).values, latents)


def squared_error(bits: int, step: float) -> float:
    """Of a uniform mid-rise quantiser on a standard normal, by Simpson's rule inside each level."""
    total, half = 0.0, 2 ** (bits - 1)
    for level in range(half):  # the other half is its mirror image
        low, high = level * step, (level + 1) * step if level < half - 1 else level * step + 12.0
        x = np.linspace(low, high, 401)
        f = (x - (level + 0.5) * step) ** 2 * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        total += (x[1] - x[0]) / 3 * (f[0] + f[-1] + 4 * f[1::2].sum() + 2 * f[2:-1:2].sum())
    return 2 * total


@pytest.mark.parametrize("bits", STEPS)
def test_steps_are_the_optimum(bits: int) -> None:
    best = squared_error(bits, STEPS[bits])
    assert best < min(squared_error(bits, STEPS[bits] * factor) for factor in (0.98, 1.02))
    assert best == pytest.approx(NOISE[f"int{bits}"], rel=0.15)
    if bits in PUBLISHED:
        step, error = PUBLISHED[bits]
        assert (STEPS[bits], best) == (step, pytest.approx(error, rel=1e-3))


@pytest.mark.parametrize("storage", ALL)
def test_damage_does_not_raise(storage: str) -> None:
    random = np.random.default_rng(0).integers(0, 256, (50, latent_bytes(storage, 64)), dtype=np.uint8)
    rows = np.concatenate([random, np.full_like(random[:1], 255), np.zeros_like(random[:1])])
    rows[0, :4] = np.frombuffer(np.float32(np.nan).tobytes(), np.uint8)
    rows[1, :2] = np.frombuffer(np.float16(np.inf).tobytes(), np.uint8)
    stored = unpack(rows, storage, 64)
    assert np.isfinite(stored.values).all()
    assert not np.isnan(stored.low).any() and not np.isnan(stored.high).any()
    assert (stored.low <= stored.high).all()


def test_an_even_latent_survives_the_integer_forms() -> None:
    """No spread, so no scale: nothing to keep, but nothing to divide by either."""
    assert np.isfinite(unpack(pack(np.zeros((1, 64), np.float32), "int4"), "int4", 64).values).all()
