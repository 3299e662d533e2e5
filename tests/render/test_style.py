"""Styles: the shipped ones load, and impossible ones are refused by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from render.style import STYLES, Style
from vtc.records.errors import UsageError


@pytest.mark.parametrize("path", sorted(STYLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_styles_load_and_are_named_after_their_file(path: Path) -> None:
    style = Style.load(path.stem)
    assert style.name == path.stem
    assert style.cell_width == 16 * style.unit
    for drawing in style.drawn().values():
        assert drawing.shape in ((style.cell_height, style.unit), (style.cell_height, 2 * style.unit))
        assert drawing.any()
    assert {0x20, 0x09, 0x0A, 0x0D, 0xA0, 0x3000} <= set(style.drawn())


def test_drawings_keep_their_px_in_16_px_cells_and_grow_with_the_cell(style: Style) -> None:
    small = style.drawn()[0x0A]
    assert ["".join(".#"[int(v)] for v in row) for row in small] == style.drawings["000A"].split()
    doubled = replace(style, cell_height=32, unit=16, cell_width=256).drawn()[0x0A]
    assert (doubled == small.repeat(2, axis=0).repeat(2, axis=1)).all()
    accent = replace(style, cell_height=32, unit=16, cell_width=256).drawn_accents()[0x301]
    assert (accent == style.drawn_accents()[0x301].repeat(2, axis=0).repeat(2, axis=1)).all()


def test_an_unknown_style_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="default"):
        Style.load("defualt")


def test_an_unknown_key_is_an_error(tmp_path: Path) -> None:
    content = yaml.safe_load((STYLES / "default.yaml").read_text())
    content["cell_hight"] = 16
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(UsageError, match="cell_height"):
        Style.load(str(tmp_path / "mine.yaml"))


@pytest.mark.parametrize(
    "change",
    [{"unit": 7}, {"cell_height": 15}, {"cell_height": 14}, {"cell_width": 100}, {"cell_width": 32}, {"unit": 9}],
)
def test_impossible_sizes_are_refused(style: Style, change: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="style default"):
        replace(style, **change)


@pytest.mark.parametrize("text", ["#.\n.#", "........\n", "........\n" * 15 + ".......", "#" * 12 + "\n"])
def test_a_drawing_of_another_size_is_refused(style: Style, text: str) -> None:
    with pytest.raises(UsageError, match="drawing 0041"):
        replace(style, drawings={"0041": text}).drawn()


def test_no_two_accents_are_alike(style: Style) -> None:
    accents = [np.pad(accent, ((4 - len(accent), 0), (0, 0))) for accent in style.drawn_accents().values()]
    assert min(int((a != b).sum()) for i, a in enumerate(accents) for b in accents[:i]) >= 4
