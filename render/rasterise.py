"""Code point -> one-bit bitmap, by FreeType's monochrome rasteriser (Pillow), fitted into its slots, never clipped."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw

from render.fonts import Font
from render.style import Style

_SMALLEST = 7  # px per em; a glyph that is too large even at this size is reduced as an image
_UNDRAWN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"}
"""General categories that are never drawn from a font: they have no ink, or none that all fonts agree on."""


def drawable(cp: int) -> bool:
    """Whether a code point may be drawn from a font (its category says it has a shape of its own)."""
    return unicodedata.category(chr(cp)) not in _UNDRAWN


def rasterise(cp: int, fonts: Sequence[Font], style: Style) -> np.ndarray | None:
    """Draw a code point with the first font that has it and leaves ink.

    Wide and fullwidth characters (Unicode Standard Annex #11) take two slots; so do others whose ink is clearly wider
    than one. Combining marks stand alone with a row of dots, so that they have a place of their own and differ from
    spacing accents.

    Returns:
        bool [cell_height, unit or 2 * unit], or None where no font has it.
    """
    if not drawable(cp):
        return None
    wide = unicodedata.east_asian_width(chr(cp)) in "WF"
    for font in fonts:
        if cp in font.codepoints:
            glyph = _fit(chr(cp), font, style, wide)
            if glyph is not None:
                return _with_dots(glyph, style) if unicodedata.category(chr(cp)) in ("Mn", "Me") else glyph
    return None


def _with_dots(glyph: np.ndarray, style: Style) -> np.ndarray:
    """Add the dots that stand for the missing base of a combining mark."""
    glyph[style.cell_height // 2, 1 : glyph.shape[1] - 1 : 2] = True
    return glyph


def _ink(text: str, font: Font, size: int) -> tuple[np.ndarray, int, int]:
    """Ink of one glyph: bool [h, w] cut to its px, its left edge relative to the origin, its top above the baseline."""
    room = 4 * size  # px on each side of the origin: more than any glyph of the chain reaches
    canvas = Image.new("1", (2 * room, 2 * room))
    draw = ImageDraw.Draw(canvas)
    draw.fontmode = "1"  # monochrome: no grey to threshold, thin strokes kept by FreeType's drop-out control
    draw.text((room, room), text, font=font.at(size), fill=1, anchor="ls")
    box = canvas.getbbox()
    if box is None:
        return np.zeros((0, 0), dtype=bool), 0, 0
    left, top, right, bottom = box
    return np.asarray(canvas.crop((left, top, right, bottom)), dtype=bool), left - room, room - top


def _fit(text: str, font: Font, style: Style, wide: bool) -> np.ndarray | None:
    """Bitmap of a glyph in one or two slots, at the largest size up to the font's own at which it fits."""
    ink, left, above = _ink(text, font, font.size)
    if ink.size == 0:
        return None
    width = (2 if wide or ink.shape[1] > style.unit + 1 else 1) * style.unit
    size = font.size
    while (ink.shape[0] > style.cell_height or ink.shape[1] > width) and size > _SMALLEST:
        size -= 1
        ink, left, above = _ink(text, font, size)
    if ink.shape[0] > style.cell_height or ink.shape[1] > width:
        ink = _reduce(ink, style.cell_height, width)
        left, above = 0, font.baseline
    advance = round(font.at(size).getlength(text))
    x = left + (width - advance) // 2 if advance else (width - ink.shape[1]) // 2
    x = min(max(x, 0), width - ink.shape[1])
    y = min(max(font.baseline - above, 0), style.cell_height - ink.shape[0])
    out = np.zeros((style.cell_height, width), dtype=bool)
    out[y : y + ink.shape[0], x : x + ink.shape[1]] = ink
    return out


def _reduce(ink: np.ndarray, height: int, width: int) -> np.ndarray:
    """Shrink a bitmap to at most [height, width]; a px is ink where any of its sources is."""
    rows = np.arange(ink.shape[0]) * min(height, ink.shape[0]) // ink.shape[0]
    columns = np.arange(ink.shape[1]) * min(width, ink.shape[1]) // ink.shape[1]
    out = np.zeros((rows[-1] + 1, columns[-1] + 1), dtype=bool)
    np.logical_or.at(out, (rows[:, None], columns[None, :]), ink)
    return out
