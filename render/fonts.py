"""Fonts of a style: found in pinned packages or at a path that the user gives, with a fallback chain."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata, util
from pathlib import Path
from typing import Any

from fontTools.ttLib import TTFont, TTLibError
from PIL import ImageFont

from render.style import FontSpec, Style
from vtc.records.artefact import explain
from vtc.records.errors import UsageError, VtcError

_SUFFIXES = {".ttf", ".otf", ".ttc"}


@dataclass
class Font:
    """One font file at the size and weight of a style."""

    path: Path
    size: int
    """px per em."""
    baseline: int
    """px from the top of the cell."""
    axes: dict[str, float]
    source: str
    """`distribution version`, or `user` for a file given with --fonts."""
    _sized: dict[int, ImageFont.FreeTypeFont] = field(default_factory=dict, repr=False)

    @cached_property
    def codepoints(self) -> frozenset[int]:
        """Code points that the font maps to a glyph."""
        return frozenset(self._tables.getBestCmap() or ())

    @cached_property
    def _tables(self) -> TTFont:
        try:
            return TTFont(self.path, fontNumber=0, lazy=True)
        except (TTLibError, OSError) as error:
            raise VtcError(f"{self.path}: not a readable font ({error}); name a .ttf, .otf or .ttc file") from error

    def at(self, size: int) -> ImageFont.FreeTypeFont:
        """The FreeType face at `size` px per em. Basic layout: one code point, one glyph, no shaping."""
        if size not in self._sized:
            face = ImageFont.truetype(str(self.path), size, layout_engine=ImageFont.Layout.BASIC)
            if "fvar" in self._tables:
                axes = self._tables["fvar"].axes
                face.set_variation_by_axes([self.axes.get(axis.axisTag, axis.defaultValue) for axis in axes])
            self._sized[size] = face
        return self._sized[size]

    def describe(self) -> dict[str, Any]:
        """What the atlas records of this font: file, source, versions, licence, SHA-256."""
        names = self._tables["name"]
        return {
            "file": self.path.name,
            "source": self.source,
            "name": names.getDebugName(4),
            "version": names.getDebugName(5),
            "licence": names.getDebugName(13),
            "sha256": hashlib.sha256(self.path.read_bytes()).hexdigest(),
            "size": self.size,
            "baseline": self.baseline,
            "axes": self.axes,
        }


def font_chain(style: Style, user: str | Path | None = None) -> list[Font]:
    """The fonts of a style, first choice first.

    Args:
        style: declares the packages.
        user: a font file, or a directory whose font files (by name) come before the style's. The style's packages are
            then optional: one that is not installed is skipped with a note on standard error.

    Raises:
        UsageError: the path holds no font.
        VtcError: a package of the style is not installed.
    """
    fonts = _user_fonts(Path(user), style) if user is not None else []
    for spec in style.fonts:
        try:
            fonts += _package_fonts(spec)
        except VtcError as error:
            if user is None:
                raise
            print(f"note: {error}", file=sys.stderr)
    return fonts


def _user_fonts(path: Path, style: Style) -> list[Font]:
    try:
        files = sorted(path.iterdir()) if path.is_dir() else [path]
    except OSError as error:
        raise VtcError(explain(error, path)) from error
    files = [file for file in files if file.is_file() and file.suffix.lower() in _SUFFIXES]
    if not files:
        raise UsageError(f"{path}: no font there; name a .ttf, .otf or .ttc file or a directory that holds some")
    return [Font(file, style.user_size, style.user_baseline, {}, "user") for file in files]


def _package_fonts(spec: FontSpec) -> list[Font]:
    found = util.find_spec(spec.package)  # without importing it
    mend = "install the renderer's fonts: pip install 'vtc-llm[render]'"
    if found is None or not found.submodule_search_locations:
        raise VtcError(f"font package {spec.distribution} is not installed; {mend}")
    root = Path(found.submodule_search_locations[0])
    source = f"{spec.distribution} {metadata.version(spec.distribution)}"
    fonts = [Font(root / name, spec.size, spec.baseline, dict(spec.axes), source) for name in spec.files]
    for font in fonts:
        if not font.path.is_file():
            raise VtcError(f"{font.path}: missing from {source}; {mend}")
    return fonts
