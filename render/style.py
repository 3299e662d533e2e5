"""Styles: sizes, fonts and hand-drawn glyphs of an atlas, read from `render/styles/NAME.yaml` or any YAML file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from vtc.records.config import load_config
from vtc.records.errors import UsageError
from vtc.records.suggest import unknown

STYLES = Path(__file__).parent / "styles"


@dataclass(frozen=True)
class FontSpec:
    """Some files of one font package, all drawn alike."""

    distribution: str
    """Name under which pip installs the package."""
    package: str
    """Name under which Python finds it; its files are looked up inside."""
    files: list[str]
    """Paths inside the package, in the order of the fallback."""
    size: int
    """px per em."""
    baseline: int
    """px from the top of the cell down to the baseline."""
    axes: dict[str, float] = field(default_factory=dict)
    """Variable-font axes by tag, for example `wght: 400`; an axis that is not named keeps its default."""


@dataclass(frozen=True)
class Style:
    """Everything that decides how an atlas looks."""

    name: str
    """Names the artefact: `atlas-NAME.safetensors`."""
    cell_height: int
    """px; even."""
    cell_width: int
    """px; a whole number of units."""
    unit: int
    """Width of a half-width slot, px; a full-width character takes two."""
    user_size: int
    """px per em of fonts given with --fonts."""
    user_baseline: int
    """px from the top to the baseline, for fonts given with --fonts."""
    fonts: list[FontSpec]
    """The fallback chain: the first font that has a code point, and does not draw it blank, draws it."""
    min_distance: int = 3
    """px: any two glyphs of equal width differ in at least so many; those that would not get a small mark."""
    legibility: dict[str, int] = field(default_factory=dict)
    """px: smallest Hamming distance that `render.legibility` accepts, by set of characters."""
    drawings: dict[str, str] = field(default_factory=dict)
    """Hand-drawn glyphs by hex code point, rows of `#` and `.`: for what has no ink, or is drawn too alike by fonts."""

    accents: dict[str, str] = field(default_factory=dict)
    """Hand-drawn accents by the hex code point of the combining mark, put above base letters (`render.compose`)."""

    def __post_init__(self) -> None:
        if self.unit < 8 or self.cell_height < 16 or self.cell_height % 2:
            raise UsageError(f"style {self.name}: needs unit >= 8 and an even cell_height >= 16")
        if self.cell_width % self.unit or self.cell_width < 8 * self.unit:
            raise UsageError(f"style {self.name}: cell_width must be a whole number of units, at least 8")
        if self.cell_height * self.unit % 8 or self.cell_height // 2 * self.unit < 64:
            raise UsageError(f"style {self.name}: cell_height * unit must be a multiple of 8 and at least 128")

    @classmethod
    def load(cls, name: str) -> Style:
        """A shipped style by its name, or a YAML file by its path.

        Raises:
            UsageError: no such style, an unknown key, or an impossible size.
            VtcError: the file cannot be read.
        """
        if name.endswith((".yaml", ".yml")):
            return load_config(cls, name)
        path = STYLES / f"{name}.yaml"
        if not path.exists():
            raise UsageError(unknown("style", name, [style.stem for style in STYLES.glob("*.yaml")]))
        return load_config(cls, path)

    def drawn(self) -> dict[int, np.ndarray]:
        """The hand-drawn glyphs at this style's size: code point -> bool [cell_height, unit or 2 * unit]."""
        return {int(key, 16): self._scaled(key, text, exact=True) for key, text in self.drawings.items()}

    def drawn_accents(self) -> dict[int, np.ndarray]:
        """The hand-drawn accents at this style's size: combining mark -> bool [rows, unit]."""
        return {int(key, 16): self._scaled(key, text, exact=False) for key, text in self.accents.items()}

    def _scaled(self, key: str, text: str, exact: bool) -> np.ndarray:
        """A drawing made for 16 px cells with slots of 8 px, at this style's size; `exact` wants 16 rows."""
        rows = [[c == "#" for c in line] for line in text.split()]
        if {len(row) for row in rows} not in ({8}, {16}) or (exact and len(rows) != 16):
            wanted = "16 rows" if exact else "rows"
            raise UsageError(f"style {self.name}: drawing {key}: needs {wanted} of 8 or 16 times '#' or '.'")
        art = np.array(rows)
        height = round(len(art) * self.cell_height / 16)
        width = art.shape[1] // 8 * self.unit
        return art[np.arange(height) * len(art) // height][:, np.arange(width) * art.shape[1] // width]
