"""How well the glyphs of an atlas can be told apart: distances, confusable pairs, unbroken strokes.

    python -m render.legibility
    python -m render.legibility --sets ascii greek --json

For each set of characters: the smallest Hamming distance between two glyphs of equal width, the same when one of them
may be shifted by one px, and the nearest pairs. Exit status 1 if a set is below the minimum that the style declares for
it, or if a letter or digit of ASCII does not hang together.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np

from render.command import parser, run
from vtc.glyphs.atlas import Atlas
from vtc.records.errors import UsageError
from vtc.records.suggest import unknown

_NEIGHBOURS = 4  # nearest glyphs looked at for each glyph
SETS: dict[str, list[int]] = {
    "ascii": list(range(0x20, 0x7F)),
    "latin1": [*range(0x20, 0x7F), *range(0xA0, 0x100)],
    "greek": [c for c in range(0x386, 0x3CF) if c not in (0x387, 0x38B, 0x38D, 0x3A2)],
    "cyrillic": list(range(0x400, 0x460)),
    "kana": [*range(0x3041, 0x3097), *range(0x30A1, 0x30FB)],
    # Level 1 of GB 2312: the 3,755 most used characters of simplified Chinese
    "han": [
        ord(bytes((0xA0 + row, 0xA0 + place)).decode("gb2312"))
        for row in range(16, 56)
        for place in range(1, 95)
        if (row, place) < (55, 90)
    ],
}
PIECES = {"i": {2}, "j": {2}, "0": {1, 2}}
"""Connected pieces that an ASCII letter or digit may have (a zero with a dot has 2); 1 for those not named."""


def nearest_pairs(glyphs: np.ndarray) -> list[tuple[int, int, int, int]]:
    """Pairs of bitmaps that are near each other, nearest first.

    Args:
        glyphs: bool [n, height, width].

    Returns:
        (i, j, distance, shifted) with i < j: px in which they differ, and the least when i is shifted by up to one px
        in each direction. Each glyph's few nearest neighbours are in the list.
    """
    if len(glyphs) < 2:
        return []
    packed = np.packbits(glyphs.reshape(len(glyphs), -1), axis=1)
    matcher = cv2.BFMatcher(cv2.NORM_HAMMING)
    shifted: dict[tuple[int, int], int] = {}
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            moved = np.stack([_shift(glyph, dx, dy) for glyph in glyphs])
            queries = np.packbits(moved.reshape(len(moved), -1), axis=1)
            for matches in matcher.knnMatch(queries, packed, k=min(_NEIGHBOURS + 1, len(glyphs))):
                for match in matches:
                    if match.queryIdx != match.trainIdx:
                        pair = (min(match.queryIdx, match.trainIdx), max(match.queryIdx, match.trainIdx))
                        shifted[pair] = min(shifted.get(pair, glyphs[0].size), round(match.distance))
    flat = glyphs.reshape(len(glyphs), -1)
    rows = [(i, j, int((flat[i] != flat[j]).sum()), near) for (i, j), near in shifted.items()]
    return sorted(rows, key=lambda row: (row[2], row[3], row[0], row[1]))


def _shift(glyph: np.ndarray, dx: int, dy: int) -> np.ndarray:
    matrix = np.array([[1, 0, dx], [0, 1, dy]], dtype=np.float32)
    moved = cv2.warpAffine(glyph.astype(np.uint8), matrix, glyph.shape[::-1], flags=cv2.INTER_NEAREST)
    return moved.astype(bool)


def pieces(glyph: np.ndarray) -> int:
    """Connected pieces of ink (diagonal neighbours hang together)."""
    return int(cv2.connectedComponents(glyph.astype(np.uint8), connectivity=8)[0]) - 1


def broken_letters(atlas: Atlas) -> str:
    """ASCII letters and digits whose ink does not have the expected number of pieces."""
    letters = [chr(c) for c in range(0x21, 0x7F) if chr(c).isalnum()]
    return "".join(c for c in letters if pieces(atlas.codepoint(ord(c))) not in PIECES.get(c, {1}))


def inspect_set(atlas: Atlas, cps: Sequence[int], top: int) -> dict[str, Any]:
    """Distances within one set of code points; glyphs are compared with those of equal width."""
    by_width: dict[int, list[int]] = {}
    for cp in cps:
        by_width.setdefault(atlas.codepoint(cp).shape[1], []).append(cp)
    pairs = []
    for members in by_width.values():
        found = nearest_pairs(np.stack([atlas.codepoint(cp) for cp in members]))
        pairs += [(members[i], members[j], distance, shifted) for i, j, distance, shifted in found]
    pairs.sort(key=lambda row: (row[2], row[3], row[:2]))
    ink = [int(atlas.codepoint(cp).sum()) for cp in cps]
    return {
        "glyphs": len(cps),
        "min_distance": min((row[2] for row in pairs), default=None),
        "min_shifted": min((row[3] for row in pairs), default=None),
        "min_ink": min(ink),
        "confusable": [{"pair": chr(a) + chr(b), "distance": d, "shifted": s} for a, b, d, s in pairs[:top]],
    }


def _work(args: argparse.Namespace) -> tuple[int, str, dict[str, Any]]:
    atlas = Atlas.load(args.atlas)
    minima = atlas.header["style"]["legibility"]
    for name in args.sets:
        if name not in SETS:
            raise UsageError(unknown("set", name, SETS))
    lines, record, failed = [], {}, []
    for name in args.sets:
        report = inspect_set(atlas, SETS[name], args.top)
        report["required"] = minima.get(name, 0)
        if report["min_distance"] is not None and report["min_distance"] < report["required"]:
            failed.append(name)
        record[name] = report
        near = " ".join(f"{p['pair']}:{p['distance']}" for p in report["confusable"])
        lines.append(
            f"{name:9} {report['glyphs']:5} glyphs, nearest {report['min_distance']} px (needs {report['required']}), "
            f"shifted {report['min_shifted']} px, least ink {report['min_ink']} px; {near}"
        )
    broken = broken_letters(atlas)
    if broken:
        lines.append(f"broken strokes: {broken}")
    if failed:
        lines.append(f"too alike: {', '.join(failed)}; draw the nearest pairs by hand in the style or change the font")
    status = 1 if failed or broken else 0
    return status, "\n".join(lines), {"sets": record, "broken": broken, "failed": failed, "atlas": atlas.hash}


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    made = parser("render.legibility", "Check how well glyphs can be told apart.", "--sets ascii greek")
    made.add_argument("--atlas", metavar="PATH", help="the atlas (default: that of the default style)")
    made.add_argument("--sets", nargs="+", metavar="SET", default=list(SETS), help=f"of: {', '.join(SETS)}")
    made.add_argument("--top", type=int, default=12, help="confusable pairs to list")
    return run(made, _work, argv)


if __name__ == "__main__":
    sys.exit(main())
