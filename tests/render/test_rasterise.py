"""Rasterising: the font's own px, in one or two slots, never clipped, never blank."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen

from render.fonts import Font
from render.rasterise import drawable, rasterise
from render.style import Style


def font_ink(font: Font, text: str) -> np.ndarray:
    """Ink of a glyph straight from FreeType's mask, cut to its px."""
    mask = font.at(font.size).getmask(text, mode="1")
    px = np.array(list(mask), dtype=bool).reshape(mask.size[::-1])
    rows, columns = np.flatnonzero(px.any(axis=1)), np.flatnonzero(px.any(axis=0))
    return px[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def cut(glyph: np.ndarray) -> np.ndarray:
    rows, columns = np.flatnonzero(glyph.any(axis=1)), np.flatnonzero(glyph.any(axis=0))
    return glyph[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


@pytest.mark.parametrize("text", list("AgKjQ{@") + ["Ω", "Ж", "漢", "龜", "あ", "한", "ｱ"])
def test_a_glyph_is_the_px_of_the_first_font_that_has_it(text: str, style: Style, fonts: list[Font]) -> None:
    font = next(font for font in fonts if ord(text) in font.codepoints)
    glyph = rasterise(ord(text), fonts, style)
    assert glyph is not None and (cut(glyph) == font_ink(font, text)).all()


@pytest.mark.parametrize(
    ("text", "slots"), [("A", 1), ("ж", 1), ("é", 1), ("ｱ", 1), ("漢", 2), ("한", 2), ("Ａ", 2), ("😀", 2)]
)
def test_width_follows_the_east_asian_width(text: str, slots: int, style: Style, fonts: list[Font]) -> None:
    glyph = rasterise(ord(text), fonts, style)
    assert glyph is not None and glyph.shape == (style.cell_height, slots * style.unit)


def test_letters_stand_on_one_baseline(style: Style, fonts: list[Font]) -> None:
    for letter in "ABEHKLMNRTXZ":
        glyph = rasterise(ord(letter), fonts, style)
        assert glyph is not None and np.flatnonzero(glyph.any(axis=1))[-1] == style.fonts[0].baseline - 1


def test_a_combining_mark_stands_over_dots(style: Style, fonts: list[Font]) -> None:
    spacing, combining = rasterise(0xB4, fonts, style), rasterise(0x301, fonts, style)
    assert spacing is not None and combining is not None
    dots = combining[style.cell_height // 2]
    assert dots[1:-1:2].all() and combining.sum() > dots.sum()
    assert (combining != spacing).any()


@pytest.mark.parametrize(
    "cp", [0x00, 0x1B, 0x7F, 0x85, 0xAD, 0x200B, 0x200D, 0x2028, 0xD800, 0xE000, 0xFFFF, 0x10FFFF, 0x378]
)
def test_what_has_no_shape_of_its_own_is_left_to_the_boxes(cp: int, style: Style, fonts: list[Font]) -> None:
    assert not drawable(cp)
    assert rasterise(cp, fonts, style) is None


def make_font(path: Path, width: int, height: int, advance: int = 0) -> Font:
    """A font of 1000 units per em whose only letter, A, is a box of the given size (0: nothing), at 10 px per em."""
    pen = TTGlyphPen(None)
    if width:
        for y, x in ((0, 0), (0, width - 100)):  # two bars at the far ends, so that clipping would show
            pen.moveTo((x, y))
            pen.lineTo((x, y + height))
            pen.lineTo((x + 100, y + height))
            pen.lineTo((x + 100, y))
            pen.closePath()
    glyph = pen.glyph()
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "A"])
    builder.setupCharacterMap({65: "A"})
    builder.setupGlyf({".notdef": TTGlyphPen(None).glyph(), "A": glyph})
    builder.setupHorizontalMetrics({".notdef": (500, 0), "A": (advance or max(width, 500), 0)})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Test", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    builder.save(path)
    return Font(path, 10, 12, {}, "test")


def test_a_font_that_draws_nothing_is_passed_over(style: Style, fonts: list[Font], tmp_path: Path) -> None:
    blank = make_font(tmp_path / "blank.ttf", 0, 0)
    assert ord("A") in blank.codepoints
    assert rasterise(ord("A"), [blank], style) is None
    glyph = rasterise(ord("A"), [blank, fonts[0]], style)
    assert glyph is not None and (glyph == rasterise(ord("A"), fonts, style)).all()


@pytest.mark.parametrize(
    ("width", "height", "slots"),
    [(800, 700, 1), (900, 700, 1), (1300, 900, 2), (2500, 900, 2), (700, 1800, 1), (3600, 900, 2)],
)
def test_a_glyph_too_large_is_made_smaller_not_clipped(
    width: int, height: int, slots: int, style: Style, tmp_path: Path
) -> None:
    glyph = rasterise(ord("A"), [make_font(tmp_path / "box.ttf", width, height)], style)
    assert glyph is not None and glyph.shape == (style.cell_height, slots * style.unit)
    columns = np.flatnonzero(glyph.any(axis=0))
    gaps = np.flatnonzero(np.diff(columns) > 1)
    assert len(gaps) == 1  # both bars are there, with a gap between them
    assert glyph[:, columns[0]].sum() == glyph[:, columns[-1]].sum()


@pytest.mark.parametrize("advance", [300, 1900])
def test_a_glyph_that_leaves_its_advance_is_moved_inside(advance: int, style: Style, tmp_path: Path) -> None:
    glyph = rasterise(ord("A"), [make_font(tmp_path / "box.ttf", 800, 700, advance)], style)
    assert glyph is not None
    assert cut(glyph).shape == (7, 8) and glyph.sum() == 14
