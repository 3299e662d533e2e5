"""The whole atlas of the default style: total, injective, distinct, from real fonts, the same on every run."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from render.atlas import build_atlas, main, make_atlas
from render.distinct import reserved_outline
from render.fonts import Font
from render.style import Style
from vtc.glyphs.atlas import Atlas
from vtc.glyphs.codes import CODEPOINTS
from vtc.records.artefact import content_hash

SCRIPTS = {
    "Latin": [(0x21, 0x7E), (0xA1, 0xAC), (0xAE, 0x24F), (0x1E00, 0x1EFF)],
    "Greek": [(0x370, 0x3FF), (0x1F00, 0x1FFF)],
    "Cyrillic": [(0x400, 0x52F)],
    "kana": [(0x3041, 0x3096), (0x30A1, 0x30FF), (0xFF66, 0xFF9D)],
    "hangul": [(0xAC00, 0xD7A3), (0x1100, 0x1112), (0x3131, 0x3163), (0x3165, 0x318E)],  # 3164 is a filler
    "Han": [(0x4E00, 0x9FA5), (0x3400, 0x4DB5)],
}


def pictures(atlas: Atlas) -> np.ndarray:
    """What every code (all code points, then all bytes) looks like: uint8 [codes, bytes], half-width ones padded."""
    token_like = []
    for low in range(0, CODEPOINTS, 1 << 17):
        codes = np.arange(low, min(low + (1 << 17), CODEPOINTS))
        text = codes[(codes < 0xD800) | (codes > 0xDFFF)]
        token_like.append(atlas.draw_tokens([chr(cp).encode() for cp in text]))
    token_like.append(atlas.draw_tokens([bytes([b]) for b in range(0x80, 0x100)]))
    return np.concatenate(token_like)


def test_every_codepoint_and_byte_has_an_image_of_its_own(atlas: Atlas) -> None:
    used = 2 * atlas.unit // 8  # bytes of a row that one character can reach
    images = pictures(atlas).reshape(-1, atlas.cell_height, atlas.cell_width // 8)
    assert not images[:, :, used:].any()
    rows = np.ascontiguousarray(images[:, :, :used]).reshape(len(images), -1)
    assert len(rows) == CODEPOINTS - 0x800 + 0x80  # surrogates are no text, ASCII bytes are characters
    assert rows.any(axis=1).all()
    assert len(np.unique(rows.view(f"V{rows.shape[1]}"))) == len(rows)


def test_surrogates_and_ascii_bytes_have_boxes_of_their_own(atlas: Atlas) -> None:
    boxes = [atlas.codepoint(cp) for cp in range(0xD800, 0xE000)] + [atlas.byte(b) for b in range(256)]
    boxes += [atlas.codepoint(cp) for cp in range(0xD700, 0xD800)]
    assert len({box.tobytes() for box in boxes}) == len(boxes)


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_main_scripts_are_drawn_from_fonts(script: str, atlas: Atlas) -> None:
    """All of them but for a few archaic or recently added characters."""
    cps = [cp for low, high in SCRIPTS[script] for cp in range(low, high + 1) if unicodedata.category(chr(cp)) != "Cn"]
    boxed = [cp for cp in cps if not atlas.has_glyph(cp)]
    assert len(boxed) <= (12 if script in ("Greek", "Han") else 0), [hex(cp) for cp in boxed]


def test_glyphs_of_equal_width_keep_the_distance_of_the_style(atlas: Atlas, style: Style) -> None:
    """Full search over all half-width glyphs, and over one in forty of the full-width ones."""
    bits = np.unpackbits(atlas.slots, axis=1).astype(np.float32)
    starts = np.cumsum(atlas.widths) - atlas.widths
    half = bits[starts[atlas.widths == 1]]
    double = starts[atlas.widths == 2]
    full = np.concatenate([bits[double], bits[double + 1]], axis=1)
    for queries, keys in ((half, half), (full[::40], full)):
        for low in range(0, len(queries), 1000):
            chunk = queries[low : low + 1000]
            distance = chunk.sum(axis=1)[:, None] + keys.sum(axis=1)[None] - 2 * chunk @ keys.T
            assert np.sort(distance, axis=1)[:, 1].min() >= style.min_distance


def test_a_row_of_slots_has_one_meaning(atlas: Atlas) -> None:
    starts = np.cumsum(atlas.widths, dtype=np.int64) - atlas.widths
    halves = {slot.tobytes() for slot in atlas.slots[starts[atlas.widths == 1]]}
    firsts = {slot.tobytes() for slot in atlas.slots[starts[atlas.widths == 2]]}
    assert not halves & firsts
    first = np.unpackbits(atlas.slots[starts], axis=1).reshape(-1, atlas.cell_height, atlas.unit).astype(bool)
    assert not any(map(reserved_outline, first))


def test_spaces_and_controls_have_marks(atlas: Atlas) -> None:
    shown = [
        atlas.codepoint(cp).tobytes() for cp in (0x20, 0x09, 0x0A, 0x0D, 0xA0, 0x3000, 0x200B, 0x200D, 0xFEFF, 0x2028)
    ]
    assert len(set(shown)) == len(shown)
    assert all(any(picture) for picture in shown)


def test_two_runs_give_the_same_bytes(style: Style, fonts: list[Font], tmp_path: Path) -> None:
    latin = fonts[:2]
    make_atlas(style, latin, tmp_path / "a.safetensors")
    make_atlas(style, latin, tmp_path / "b.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    code = (
        "from render.atlas import *; from vtc.records.artefact import content_hash; s = Style.load('default'); "
        "print(content_hash(build_atlas(s, font_chain(s)[:2])))"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == content_hash(build_atlas(style, latin))


def test_an_atlas_that_is_up_to_date_is_not_built_again(style: Style, fonts: list[Font], tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    assert make_atlas(style, fonts[:1], path)[0]
    assert not make_atlas(style, fonts[:1], path)[0]
    assert make_atlas(style, fonts[:1], path, force=True)[0]
    assert make_atlas(style, fonts[1:2], path)[0]
    assert make_atlas(replace(style, min_distance=2), fonts[1:2], path)[0]
    path.write_bytes(path.read_bytes()[:1000])
    assert make_atlas(replace(style, min_distance=2), fonts[1:2], path)[0]


def test_the_large_style_builds_too(fonts: list[Font], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from render.fonts import font_chain

    style = Style.load("large")
    make_atlas(style, font_chain(style)[:2], tmp_path / "large.safetensors")
    large = Atlas.load(tmp_path / "large.safetensors")
    assert large.codepoint(ord("A")).shape == (24, 12) and large.codepoint(ord("漢")).shape == (24, 24)
    images = large.draw_tokens([b" the", "漢字".encode(), b"\xff", b"x" * 99])
    assert images.shape == (4, 24 * 192 // 8) and len({image.tobytes() for image in images}) == 4


def test_the_command_line(style: Style, fonts: list[Font], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    font = tmp_path / "mono.ttf"
    font.write_bytes(fonts[0].path.read_bytes())
    only = tmp_path / "only.yaml"
    text = (Path(sys.modules["render.style"].__file__ or "").parent / "styles" / "default.yaml").read_text()
    head, tail = text.split("fonts:\n", 1)
    only.write_text(f"{head}fonts: []\nlegibility:{tail.split('legibility:', 1)[1]}")
    target = tmp_path / "mine.safetensors"
    args = ["--style", str(only), "--fonts", str(font), "-o", str(target), "--json"]
    assert main(args) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert record["built"] and record["bytes"] == target.stat().st_size
    assert record["sha256"] == Atlas.load(target).hash
    assert main(args) == 0
    assert not json.loads(capsys.readouterr().out.splitlines()[-1])["built"]
    header = Atlas.load(target).header
    assert header["fonts"][0]["source"] == "user" and header["pillow"] and header["freetype"]
    assert main(["--style", "nothing"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1
