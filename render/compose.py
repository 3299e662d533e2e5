"""Accented letters put together from their base letter and a hand-drawn accent.

At 16 px, outline fonts draw several accents as the same two or three px. A drawn accent over the style's own base
letter keeps acute, grave, circumflex and the like apart, and an accented letter equal to its base below the accent.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

import numpy as np

_DOTLESS = {"i": "ı", "j": "ȷ", "і": "ı"}
"""Letters that lose their dot under an accent (the last key is Cyrillic)."""


def parts(cp: int) -> tuple[int, int] | None:
    """Base letter and accent of a code point that is canonically one of each (Unicode decomposition), else None."""
    text = unicodedata.normalize("NFD", chr(cp))
    if len(text) != 2 or not unicodedata.combining(text[1]):
        return None
    return ord(_DOTLESS.get(text[0], text[0])), ord(text[1])


def compose(cp: int, glyphs: Mapping[int, np.ndarray], accents: Mapping[int, np.ndarray]) -> np.ndarray | None:
    """Bitmap of an accented letter, or None where its base or accent is not at hand or there is no room above.

    Args:
        cp: the code point.
        glyphs: bitmaps so far, bool [height, width] by code point.
        accents: accents that stand above a letter, bool [rows, unit] by the code point of the combining mark.
    """
    found = parts(cp)
    if found is None or found[0] not in glyphs or found[1] not in accents:
        return None
    base, accent = glyphs[found[0]], accents[found[1]]
    if base.shape[1] != accent.shape[1]:
        return None
    top = int(np.flatnonzero(base.any(axis=1))[0])
    bottom = top - 1  # one free row between accent and letter, where there is room
    if bottom < len(accent):
        bottom = top
    if bottom < len(accent):
        return None
    out = base.copy()
    out[bottom - len(accent) : bottom] |= accent
    return out
