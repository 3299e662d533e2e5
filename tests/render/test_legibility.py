"""Legibility: nearest pairs by brute force, and the default atlas above its minima."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from render.atlas import make_atlas
from render.fonts import Font
from render.legibility import SETS, broken_letters, inspect_set, main, nearest_pairs, pieces
from render.style import Style
from vtc.glyphs.atlas import Atlas


def brute_force(glyphs: np.ndarray) -> tuple[int, int]:
    """Least distance, plain and when one glyph is moved by up to one px over a blank border."""
    plain, shifted = 10**6, 10**6
    for i, a in enumerate(glyphs):
        for j, b in enumerate(glyphs):
            if i == j:
                continue
            plain = min(plain, int((a != b).sum()))
            wide = np.pad(a, 1)
            for y in range(3):
                for x in range(3):
                    moved = wide[y : y + a.shape[0], x : x + a.shape[1]]
                    shifted = min(shifted, int((moved != b).sum()))
    return plain, shifted


@pytest.mark.parametrize("seed", range(5))
def test_nearest_pairs_agree_with_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    glyphs = rng.random((12, 16, 8)) < 0.2
    glyphs[1] = np.roll(glyphs[0], 1, axis=1)
    glyphs[3] = glyphs[2]
    glyphs[3, 5, 2] ^= True
    pairs = nearest_pairs(glyphs)
    plain, shifted = brute_force(glyphs)
    assert pairs[0][:3] == (2, 3, 1) and plain == 1
    assert min(pair[3] for pair in pairs) == shifted
    for i, j, distance, near in pairs:
        assert i < j and distance == (glyphs[i] != glyphs[j]).sum() and near <= distance


def test_pieces_counts_ink_that_hangs_together() -> None:
    glyph = np.zeros((16, 8), dtype=bool)
    assert pieces(glyph) == 0
    glyph[2, 2] = glyph[3, 3] = True  # diagonal neighbours
    assert pieces(glyph) == 1
    glyph[10:12, 4] = True
    assert pieces(glyph) == 2


def test_the_default_atlas_is_legible(atlas: Atlas, style: Style) -> None:
    assert not broken_letters(atlas)
    for name, least in style.legibility.items():
        report = inspect_set(atlas, SETS[name], 5)
        assert report["min_distance"] >= least, name
        assert report["min_ink"] > 0 and len(report["confusable"]) == 5
    for pair in ("0O", "1l", "1I", "lI", "KH", "5S", "8B", "2Z", ".,", "ce"):
        a, b = (atlas.codepoint(ord(c)) for c in pair)
        assert (a != b).sum() >= style.legibility["ascii"], pair


def test_the_han_set_is_level_1_of_gb2312() -> None:
    assert len(SETS["han"]) == 3755 == len(set(SETS["han"]))
    assert chr(SETS["han"][0]) == "啊" and chr(SETS["han"][-1]) == "座"


def test_exit_status_and_json(
    atlas_path: Path, style: Style, fonts: list[Font], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--atlas", str(atlas_path), "--sets", "ascii", "greek", "--json"]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert set(record["sets"]) == {"ascii", "greek"} and not record["failed"]

    strict = tmp_path / "strict.safetensors"
    make_atlas(replace(style, legibility={"ascii": 60}), fonts[:1], strict)
    assert main(["--atlas", str(strict), "--sets", "ascii", "--json"]) == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["failed"] == ["ascii"]
    assert main(["--atlas", str(strict), "--sets", "asci"]) == 2
    assert "did you mean 'ascii'" in capsys.readouterr().err
    assert main(["--atlas", str(tmp_path / "absent")]) == 1
    assert "render.atlas" in capsys.readouterr().err
