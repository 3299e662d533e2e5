"""The contact sheet shows every section, whole."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from render.sheet import SECTIONS, draw_sheet, draw_text, main
from vtc.glyphs.atlas import Atlas


def test_text_breaks_into_lines_without_losing_a_glyph(atlas: Atlas) -> None:
    text = "abc漢字def"
    image = draw_text(atlas, text, 4)
    ink = sum(int(atlas.codepoint(ord(c)).sum()) for c in text)
    assert image.shape[1] == 4 * atlas.unit and int(image.sum()) == ink
    assert (image[: atlas.cell_height, : atlas.unit] == atlas.codepoint(ord("a"))).all()


def test_every_sample_is_on_the_sheet(atlas: Atlas) -> None:
    sheet = draw_sheet(atlas, "extra")
    wanted = sum(int(atlas.codepoint(ord(c)).sum()) for _, sample in SECTIONS for c in sample)
    assert sheet.sum() > wanted
    assert not sheet[0].any() and not sheet[:, -1].any()


def test_the_command_writes_a_png(atlas_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "sheet.png"
    assert main(["--atlas", str(atlas_path), "-o", str(target), "--text", "Ünïcode", "--json"]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    with Image.open(target) as image:
        assert image.size == (record["width"], record["height"])
        assert 0.01 < (~np.asarray(image, dtype=bool)).mean() < 0.5
    assert main(["--atlas", str(atlas_path), "-o", str(tmp_path / "no" / "sheet.png")]) == 1
    assert "no such file or directory" in capsys.readouterr().err
