"""Accented letters from base letter and accent."""

from __future__ import annotations

import numpy as np
import pytest

from render.compose import compose, parts

BASE = np.zeros((16, 8), dtype=bool)
BASE[6:13, 1:7] = True
ACCENT = np.array([[False] * 3 + [True] * 2 + [False] * 3] * 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("é", "e\u0301"),
        ("Å", "A\u030a"),
        ("й", "и\u0306"),
        ("ή", "η\u0301"),
        ("ï", "ı\u0308"),
        ("ĵ", "ȷ\u0302"),
        ("ї", "ı\u0308"),
    ],
)
def test_parts_follow_the_canonical_decomposition(text: str, expected: str) -> None:
    assert parts(ord(text)) == (ord(expected[0]), ord(expected[1]))


@pytest.mark.parametrize("text", ["e", "ø", "ệ", "한", "漢", "ﬁ"])
def test_other_characters_have_no_parts(text: str) -> None:
    assert parts(ord(text)) is None


def test_the_accent_stands_one_free_row_above_the_letter() -> None:
    glyph = compose(ord("é"), {ord("e"): BASE}, {0x301: ACCENT})
    assert glyph is not None
    assert (glyph[6:] == BASE[6:]).all()
    assert not glyph[5].any() and not glyph[:3].any()
    assert (glyph[3:5] == ACCENT).all()
    assert not BASE[:6].any()  # the base letter itself is left alone


@pytest.mark.parametrize(("top", "bottom"), [(3, 2), (2, 2)])
def test_a_tall_letter_takes_the_room_there_is(top: int, bottom: int) -> None:
    tall = np.roll(BASE, top - 6, axis=0)
    glyph = compose(ord("é"), {ord("e"): tall}, {0x301: ACCENT})
    assert glyph is not None and (glyph[bottom - 2 : bottom] == ACCENT).all()


def test_without_room_base_or_accent_the_font_decides() -> None:
    assert compose(ord("é"), {ord("e"): np.roll(BASE, -5, axis=0)}, {0x301: ACCENT}) is None
    assert compose(ord("é"), {}, {0x301: ACCENT}) is None
    assert compose(ord("é"), {ord("e"): BASE}, {0x300: ACCENT}) is None
    assert compose(ord("é"), {ord("e"): np.hstack([BASE, BASE])}, {0x301: ACCENT}) is None
