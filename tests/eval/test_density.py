"""The search for the largest exact density, against a codec whose limit is known."""

from __future__ import annotations

import numpy as np
import pytest

from eval import density


@pytest.mark.parametrize("limit", [1, 7, 64, 300, 1000])
def test_bisection_finds_a_known_limit(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    asked: list[int] = []

    def exact(ids: np.ndarray, table: object, guess: int, tiles: int, options: dict[str, object]) -> bool:
        asked.append(guess)
        return guess <= limit

    class Codec:
        capacity = 1000

        def __init__(self, table: object, density: int) -> None: ...

    monkeypatch.setattr(density, "exact", exact)
    monkeypatch.setattr(density, "HardCodec", Codec)
    found = density.largest(np.zeros(1), None, 1, {})  # type: ignore[arg-type]
    assert limit * 15 / 16 - 1 <= found <= limit
    assert len(asked) < 20 and max(asked) <= 1000
