"""Texts that a task makes itself, the same from the same seed: no prior of any language helps on them."""

from __future__ import annotations

import random

CHARACTERS = 2000
"""Length of a made page, characters."""


def han_pages(pages: int, seed: int = 0) -> list[str]:
    """Random common Han characters (level 1 of GB 2312, 3,755 of them) with a comma or a full stop now and then."""
    rows = [bytes([high, low]) for high in range(0xB0, 0xD8) for low in range(0xA1, 0xFF)]
    common = [character for pair in rows if (character := pair.decode("gb2312", "ignore"))]
    draw = random.Random(seed)
    marks = ["，", "。"]
    return [
        "".join(draw.choice(marks) if draw.random() < 0.08 else draw.choice(common) for _ in range(CHARACTERS // 2))
        for _ in range(pages)
    ]


def hex_pages(pages: int, seed: int = 0) -> list[str]:
    """Lines of 64 random hexadecimal digits, as SHA-256 sums look."""
    draw = random.Random(seed)
    return ["\n".join(f"{draw.getrandbits(256):064x}" for _ in range(CHARACTERS // 65)) for _ in range(pages)]
