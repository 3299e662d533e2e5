"""Build the atlas: every code point that a font has, as a one-bit bitmap.

    python -m render.atlas
    python -m render.atlas --style large -o large.safetensors
    python -m render.atlas --fonts ~/fonts

Writes `atlas-STYLE.safetensors` with the tensors `codepoints` (rising), `widths` (slots), `slots` (packed bits) and
`digits` (the hex digits for all that no font has). The header holds the style, the fonts with their hashes, and the
versions that the bitmaps depend on; equal inputs give equal bytes. An atlas that is up to date is not built again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import PIL
from PIL import features

from render.command import parser, run
from render.compose import compose, parts
from render.distinct import tell_apart
from render.fonts import Font, font_chain
from render.rasterise import drawable, rasterise
from render.style import Style
from vtc.glyphs.atlas import KIND, VERSION
from vtc.glyphs.boxes import DIGITS
from vtc.records.artefact import read_header, save_artefact
from vtc.records.errors import VtcError
from vtc.records.paths import artifacts_dir
from vtc.records.progress import bar

BUILDER = 1
"""Raised when a change of the rasteriser or of the marks changes a bitmap."""


def build_atlas(style: Style, fonts: Sequence[Font]) -> dict[str, np.ndarray]:
    """Rasterise every code point of the fonts and tell the glyphs apart.

    Returns:
        `codepoints` uint32 [n], `widths` uint8 [n], `slots` uint8 [sum of widths, cell_height * unit / 8] and
        `digits` uint8 [16, 5, 3], as `vtc.glyphs.atlas.Atlas` reads them.
    """
    drawn, accents = style.drawn(), style.drawn_accents()
    known = frozenset().union(*(font.codepoints for font in fonts))
    wanted = [cp for cp in known if drawable(cp) and cp not in drawn]
    wanted.sort(key=lambda cp: (parts(cp) is not None, cp))  # base letters before what is composed of them
    glyphs = dict(drawn)
    for cp in bar(wanted, desc="glyphs", unit=" glyphs"):
        glyph = compose(cp, glyphs, accents)
        if glyph is None:
            glyph = rasterise(cp, fonts, style)
        if glyph is not None:
            glyphs[cp] = glyph
    try:
        glyphs, _ = tell_apart(glyphs, drawn, style.min_distance)
    except ValueError as error:
        raise VtcError(f"style {style.name}: {error}; change the drawing or lower min_distance") from error
    order = sorted(glyphs)
    slots = [slot for cp in order for slot in np.hsplit(glyphs[cp], glyphs[cp].shape[1] // style.unit)]
    return {
        "codepoints": np.array(order, dtype=np.uint32),
        "widths": np.array([glyphs[cp].shape[1] // style.unit for cp in order], dtype=np.uint8),
        "slots": np.packbits(np.stack(slots).reshape(len(slots), -1), axis=1),
        "digits": DIGITS.astype(np.uint8),
    }


def describe(style: Style, fonts: Sequence[Font]) -> dict[str, Any]:
    """Everything that the bitmaps depend on, with `inputs`, the SHA-256 over it all."""
    facts: dict[str, Any] = {
        "version": VERSION,
        "builder": BUILDER,
        "style": asdict(style),
        "fonts": [font.describe() for font in fonts],
        "digits": hashlib.sha256(np.packbits(DIGITS).tobytes()).hexdigest(),
        "pillow": PIL.__version__,
        "freetype": features.version("freetype2"),
        "unicode": unicodedata.unidata_version,
    }
    facts["inputs"] = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    return facts


def make_atlas(style: Style, fonts: Sequence[Font], path: Path, force: bool = False) -> tuple[bool, dict[str, Any]]:
    """Build and save the atlas unless one from the same inputs is there. Returns (built, header)."""
    facts = describe(style, fonts)
    if not force and path.exists():
        try:
            header = read_header(path, KIND)
            if header.get("inputs") == facts["inputs"]:
                return False, header
        except VtcError:
            pass  # damaged or foreign: built anew
    save_artefact(path, KIND, build_atlas(style, fonts), facts)
    return True, read_header(path, KIND)


def _work(args: argparse.Namespace) -> tuple[int, str, dict[str, Any]]:
    style = Style.load(args.style)
    path = Path(args.output) if args.output else artifacts_dir() / f"atlas-{style.name}.safetensors"
    built, header = make_atlas(style, font_chain(style, args.fonts), path, args.force)
    size = path.stat().st_size
    text = f"{path}: {'built' if built else 'up to date'}, {size / 1e6:.1f} MB, sha256 {header['sha256'][:16]}"
    record = {"path": str(path), "built": built, "bytes": size, "sha256": header["sha256"], "style": style.name}
    return 0, text, record


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    made = parser("render.atlas", "Build the atlas: code point -> one-bit bitmap.", "--style default")
    made.add_argument("--style", default="default", help="a shipped style, or a YAML file")
    made.add_argument("--fonts", metavar="PATH", help="font file or directory to try before the style's fonts")
    made.add_argument("-o", "--output", metavar="PATH", help="where to write (default: the artefact directory)")
    made.add_argument("--force", action="store_true", help="build even if an up-to-date atlas is there")
    return run(made, _work, argv)


if __name__ == "__main__":
    sys.exit(main())
