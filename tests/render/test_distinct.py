"""Glyphs that look alike are told apart."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from render.distinct import reserved_outline, tell_apart


def nearest(glyphs: list[np.ndarray]) -> int:
    return min((int((a != b).sum()) for i, a in enumerate(glyphs) for b in glyphs[:i]), default=10**6)


@given(st.integers(0, 2**32 - 1), st.integers(2, 50), st.integers(1, 5))
@settings(deadline=None, max_examples=40)
def test_all_glyphs_of_a_width_come_to_differ_enough(seed: int, count: int, distance: int) -> None:
    rng = np.random.default_rng(seed)
    shapes = [rng.random((16, width)) < 0.3 for width in (8, 8, 16, 16)]  # few shapes, so that most glyphs collide
    glyphs = {}
    for cp in range(0x400, 0x400 + count):
        glyph = shapes[rng.integers(4)].copy()
        glyph[rng.integers(16), rng.integers(glyph.shape[1])] ^= rng.random() < 0.5
        glyphs[cp] = glyph
    out, marked = tell_apart(glyphs, [], distance)
    assert out.keys() == glyphs.keys()
    for width in (8, 16):
        assert nearest([glyph for glyph in out.values() if glyph.shape[1] == width]) >= distance
    assert {cp for cp in glyphs if (out[cp] != glyphs[cp]).any()} == set(marked)
    halves = {glyph.tobytes() for glyph in out.values() if glyph.shape[1] == 8}
    assert not any(glyph[:, :8].tobytes() in halves for glyph in out.values() if glyph.shape[1] == 16)


def test_latin_keeps_its_shape_greek_and_cyrillic_get_their_own_corner() -> None:
    shape = np.zeros((16, 8), dtype=bool)
    shape[4:13, 2:6] = True
    out, marked = tell_apart({ord("А"): shape, ord("Α"): shape, ord("A"): shape}, [], 3)
    assert marked == [ord("Α"), ord("А")]
    assert (out[ord("A")] == shape).all()
    assert out[ord("Α")][14:, :2].all() and not out[ord("Α")][14:, 2:].any()
    assert out[ord("А")][14:, 6:].all() and not out[ord("А")][14:, :6].any()


def test_drawings_are_never_marked_and_must_differ_by_themselves() -> None:
    shape = np.zeros((16, 8), dtype=bool)
    shape[4:13, 2:6] = True
    out, marked = tell_apart({0x20: shape, 0x2400: shape}, [0x2400], 3)
    assert marked == [0x20] and (out[0x2400] == shape).all()
    with pytest.raises(ValueError, match="U\\+2400: the drawing"):
        tell_apart({0x20: shape, 0x2400: shape}, [0x20, 0x2400], 3)


def test_the_left_half_of_a_full_width_glyph_is_no_half_width_glyph() -> None:
    half = np.zeros((16, 8), dtype=bool)
    half[4:13, 2:6] = True
    out, marked = tell_apart({0x61: half, 0x4E00: np.hstack([half, half])}, [], 3)
    assert marked == [0x4E00] and (out[0x4E00][:, :8] != half).any()


def test_reserved_outlines_and_blanks_are_changed() -> None:
    frame = np.zeros((16, 16), dtype=bool)
    frame[[0, -1]] = True
    frame[:, 0] = True
    blank = np.zeros((16, 8), dtype=bool)
    assert reserved_outline(frame[:, :8])
    out, marked = tell_apart({0x25A1: frame, 0x40: blank}, [], 3)
    assert marked == [0x40, 0x25A1]
    assert not reserved_outline(out[0x25A1][:, :8]) and out[0x40].any()
