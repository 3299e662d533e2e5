"""Page images: written and read back, through lossless copies, and refused when they are something else."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from vtc.glyphs.lookup import CellIndex
from vtc.glyphs.pages import MARGIN, read_ids, read_page, write_page
from vtc.records.errors import UsageError, VerificationError, VtcError

GEOMETRY = SimpleNamespace(cell_height=16, cell_width=64)
TABLE = np.random.default_rng(3).integers(0, 256, (300, 128), dtype=np.uint8)
INDEX = CellIndex(TABLE)
IDS = np.random.default_rng(4).integers(0, 300, 103)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.png"
    write_page(path, TABLE[IDS], 8, GEOMETRY, {"table": "t" * 64, "page": 7})
    return path


@given(
    count=st.integers(1, 60), columns=st.integers(1, 20), height=st.sampled_from([16, 18, 24]), units=st.integers(8, 12)
)
@settings(deadline=None, max_examples=30)
def test_any_grid_comes_back(tmp_path_factory, count: int, columns: int, height: int, units: int) -> None:
    geometry = SimpleNamespace(cell_height=height, cell_width=8 * units)
    cells = np.random.default_rng(count).integers(0, 256, (count, height * units), dtype=np.uint8)
    path = tmp_path_factory.mktemp("p") / "page.png"
    write_page(path, cells, columns, geometry, {"page": 1})
    back, facts = read_page(path)
    assert (back == cells).all()
    assert facts["intact"] and facts["page"] == 1 and facts["cells"] == count


def test_cells_lie_on_a_grid_in_reading_order(page: Path) -> None:
    px = ~np.asarray(Image.open(page), dtype=bool)
    rows = -(-len(IDS) // 8)
    bottom = px.shape[0] - MARGIN
    for place in (0, 7, 8, 102):
        row, column = divmod(place, 8)
        top = bottom - (rows - row) * 16
        left = MARGIN + column * 64
        cell = px[top : top + 16, left : left + 64]
        assert (np.packbits(cell.reshape(-1)) == TABLE[IDS[place]]).all()
        assert (top - MARGIN) % 16 == 0
    with Image.open(page) as image:
        assert image.mode == "1"
        assert json.loads(image.text["vtc"])["page"] == 7


def to_palette(image: Image.Image) -> Image.Image:
    return image.convert("RGB").quantize(2)


def to_transparent(image: Image.Image) -> Image.Image:
    px = np.asarray(image.convert("L"))
    rgba = np.zeros((*px.shape, 4), dtype=np.uint8)
    rgba[..., 3] = 255 - px
    return Image.fromarray(rgba)


@pytest.mark.parametrize(
    "copy",
    [
        pytest.param(lambda image: image, id="text chunk gone"),
        pytest.param(lambda image: image.convert("L"), id="grey"),
        pytest.param(lambda image: image.convert("RGB"), id="RGB"),
        pytest.param(to_palette, id="palette"),
        pytest.param(to_transparent, id="transparent paper"),
    ],
)
@pytest.mark.parametrize("suffix", ["png", "bmp", "tiff"])
def test_lossless_copies_read_the_same(page: Path, tmp_path: Path, copy, suffix: str) -> None:
    if suffix == "bmp" and copy is to_transparent:
        pytest.skip("this format keeps no transparency")
    target = tmp_path / f"copy.{suffix}"
    copy(Image.open(page)).save(target)
    ids, facts = read_ids(target, INDEX, "t" * 64)
    assert (ids == IDS).all() and facts["page"] == 7


def damaged(page: Path, x: int, y: int) -> Path:
    px = np.asarray(Image.open(page)).copy()
    px[y, x] = ~px[y, x]
    Image.fromarray(px).save(page)
    return page


def test_a_damaged_cell_is_named(page: Path) -> None:
    height = Image.open(page).height
    damaged(page, MARGIN + 2 * 64 + 5, height - MARGIN - 3 * 16 + 4)
    rows = -(-len(IDS) // 8)
    with pytest.raises(VerificationError, match=rf"page\.png: the cell in row {rows - 2}, column 3 "):
        read_ids(page, INDEX, "t" * 64)


def test_a_cell_replaced_by_another_symbol_is_noticed(page: Path) -> None:
    cells, _ = read_page(page)
    px = np.asarray(Image.open(page)).copy()
    top = px.shape[0] - MARGIN - 13 * 16
    assert (IDS[0] != IDS[1]) and (cells[0] != cells[1]).any()
    px[top : top + 16, MARGIN : MARGIN + 64] = px[top : top + 16, MARGIN + 64 : MARGIN + 128]
    Image.fromarray(px).save(page)
    with pytest.raises(VerificationError, match="checksum"):
        read_ids(page, INDEX, "t" * 64)


def test_a_damaged_band_is_said(page: Path) -> None:
    with pytest.raises(VtcError, match="band of facts is damaged"):
        read_page(damaged(page, MARGIN + 300, MARGIN))


def test_another_table_is_refused(page: Path) -> None:
    with pytest.raises(VtcError, match="glyph table"):
        read_ids(page, INDEX, "u" * 64)


def scaled(image: Image.Image) -> Image.Image:
    return image.convert("L").resize((image.width * 3 // 2, image.height * 3 // 2), Image.Resampling.BILINEAR)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda page: scaled(page), "neither black nor white"),
        (lambda page: page.resize((page.width * 2, page.height * 2), Image.Resampling.NEAREST), "scaled or cropped"),
        (lambda page: page.crop((3, 0, page.width, page.height)), "scaled or cropped"),
        (lambda page: page.crop((0, 0, page.width, page.height - 64)), "lost a part"),
        (lambda page: Image.new("1", (400, 300), 1), "not a page image"),
        (lambda page: Image.new("1", (5, 5)), "not a page image"),
        (lambda page: Image.effect_noise((300, 200), 50), "photo"),
    ],
)
def test_other_images_are_refused_in_one_line(page: Path, tmp_path: Path, make, reason: str) -> None:
    path = tmp_path / "other.png"
    make(Image.open(page)).save(path)
    with pytest.raises(VtcError, match=reason) as error:
        read_page(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_a_jpeg_copy_is_refused(page: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.jpg"
    Image.open(page).convert("RGB").save(path, quality=80)
    with pytest.raises(VtcError, match="JPEG"):
        read_page(path)


def test_files_that_are_no_images_are_refused(page: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.png"
    text.write_text("no image")
    with pytest.raises(VtcError, match="not an image"):
        read_page(text)
    page.write_bytes(page.read_bytes()[:200])
    with pytest.raises(VtcError, match="page.png"):
        read_page(page)
    with pytest.raises(VtcError, match="no such file"):
        read_page(tmp_path / "absent.png")
    with pytest.raises(VtcError, match="is a directory"):
        read_page(tmp_path)


def test_a_page_needs_a_cell(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        write_page(tmp_path / "x.png", TABLE[:0], 8, GEOMETRY, {})
    assert not list(tmp_path.iterdir())
