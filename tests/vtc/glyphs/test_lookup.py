"""Exact look-up of glyph images."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vtc.glyphs.lookup import CellIndex


@given(st.integers(0, 2**32 - 1), st.integers(1, 13), st.integers(1, 60))
@settings(deadline=None)
def test_look_up_agrees_with_a_dictionary(seed: int, width: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    images = np.unique(rng.integers(0, 3, (count, width), dtype=np.uint8), axis=0)  # few values: many near images
    rng.shuffle(images)
    queries = np.concatenate([images, rng.integers(0, 3, (50, width), dtype=np.uint8)])
    rows = {image.tobytes(): row for row, image in enumerate(images)}
    expected = [rows.get(query.tobytes(), -1) for query in queries]
    assert CellIndex(images).ids(queries).tolist() == expected


def test_an_image_that_differs_in_one_bit_is_not_found() -> None:
    images = np.random.default_rng(0).integers(0, 256, (500, 256), dtype=np.uint8)
    queries = np.repeat(images[:1], 2048, axis=0)
    queries[np.arange(2048), np.arange(2048) // 8] ^= (1 << (np.arange(2048) % 8)).astype(np.uint8)
    assert (CellIndex(images).ids(queries) == -1).all()


def test_an_equal_hash_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    images = np.arange(80, dtype=np.uint8).reshape(10, 8)
    index = CellIndex(images)
    monkeypatch.setattr(index, "_keys", lambda queries: np.full(len(queries), index._sorted[3]))
    owner = int(index._order[3])
    assert index.ids(images).tolist() == [row if row == owner else -1 for row in range(10)]


def test_images_of_another_size_are_not_found() -> None:
    assert CellIndex(np.zeros((1, 8), np.uint8)).ids(np.zeros((3, 4), np.uint8)).tolist() == [-1, -1, -1]


def test_equal_images_are_refused() -> None:
    with pytest.raises(ValueError, match="different"):
        CellIndex(np.zeros((2, 8), np.uint8))
