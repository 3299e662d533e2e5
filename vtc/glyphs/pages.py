"""Page images: a grid of glyph images as a one-bit PNG, and exactly back.

    margin 16 px, all around
    band     the page's facts as bits, 2 x 2 px each: magic, length, JSON, CRC-32; padded to whole cell heights
    grid     cells in reading order, `columns` to a row; no space between them, so that they lie on a patch grid

The facts also stand in the PNG text chunk `vtc`, for other programs; reading needs only the px, so that any lossless
copy (another PNG encoder, RGB, grey, a palette) still reads. Cells are matched exactly; nothing is recognised.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vtc.glyphs.lookup import CellIndex
from vtc.records.artefact import atomic_write, explain
from vtc.records.errors import UsageError, VerificationError, VtcError

if TYPE_CHECKING:
    from vtc.glyphs.atlas import Atlas

FORMAT = 1
MARGIN = 16
"""px."""
_BIT = 2  # px on each side of a bit in the band
_MAGIC = b"vtc page"
_HEAD = struct.Struct("<8sI")
_MEND = "make page images with: vtc pages IN -o DIR"


def write_page(path: str | Path, cells: np.ndarray, columns: int, atlas: Atlas, meta: dict[str, Any]) -> None:
    """Write one page image atomically.

    Args:
        path: target PNG.
        cells: uint8 [n, cell_height * cell_width / 8], packed glyph images in reading order; n >= 1.
        columns: cells in a row of the grid.
        atlas: gives the cell's size.
        meta: JSON-able facts to carry along (`table`: hash of the glyph table, page index). `format`, `cell_height`,
            `cell_width`, `columns`, `cells` and `crc` are added.
    """
    from PIL import Image, PngImagePlugin

    if len(cells) < 1 or columns < 1:
        raise UsageError(f"{path}: a page needs at least one cell and one column")
    facts = {
        **meta,
        "format": FORMAT,
        "cell_height": atlas.cell_height,
        "cell_width": atlas.cell_width,
        "columns": columns,
        "cells": len(cells),
        "crc": zlib.crc32(np.ascontiguousarray(cells).tobytes()),
    }
    text = json.dumps(facts, sort_keys=True)
    grid = _grid(cells, columns, atlas.cell_height, atlas.cell_width)
    band = _band(text.encode(), grid.shape[1], atlas.cell_height)
    ink = np.pad(np.concatenate([band, grid]), MARGIN)
    chunks = PngImagePlugin.PngInfo()
    chunks.add_text("vtc", text)
    stream = io.BytesIO()
    Image.fromarray(~ink).save(stream, "png", pnginfo=chunks, optimize=True)
    with atomic_write(path) as target:
        target.write(stream.getvalue())


def read_page(path: str | Path) -> tuple[np.ndarray, dict[str, Any]]:
    """Cut a page image into its cells.

    Returns:
        uint8 [n, cell_height * cell_width / 8] packed glyph images, and the facts that `write_page` stored, with
        `intact`: whether the cells still have their CRC-32.

    Raises:
        VtcError: missing, not an image, or not a page image.
    """
    ink = _load_ink(Path(path))
    facts, top = _read_band(ink, path)
    height, width, columns, count = (facts[name] for name in ("cell_height", "cell_width", "columns", "cells"))
    rows = -(-count // columns)
    grid = ink[top : top + rows * height, MARGIN : MARGIN + columns * width]
    if grid.shape != (rows * height, columns * width):
        raise VtcError(f"{path}: a page image that lost a part of its grid; {_MEND}")
    cells = grid.reshape(rows, height, columns, width).swapaxes(1, 2).reshape(rows * columns, height * width)
    packed = np.packbits(cells, axis=1)[:count]
    facts["intact"] = zlib.crc32(packed.tobytes()) == facts["crc"]
    return packed, facts


def read_ids(path: str | Path, index: CellIndex, table: str) -> tuple[np.ndarray, dict[str, Any]]:
    """Symbols of a page image: int64 [n] rows of the glyph table, and the page's facts.

    Args:
        path: the image.
        index: the glyph table's images.
        table: hash of the glyph table, compared with the fact `table`.

    Raises:
        VtcError: not a page image, or one of another glyph table.
        VerificationError: a damaged cell (named by row and column, from 1), or cells that lost their CRC-32.
    """
    cells, facts = read_page(path)
    if facts.get("table") not in (None, table):
        raise VtcError(
            f"{path}: drawn with glyph table {str(facts['table'])[:12]}, not with {table[:12]}; use that table"
        )
    ids = index.ids(cells)
    missing = np.flatnonzero(ids < 0)
    if len(missing):
        row, column = divmod(int(missing[0]), facts["columns"])
        raise VerificationError(
            f"{path}: the cell in row {row + 1}, column {column + 1} shows no symbol of the table "
            f"({len(missing)} damaged cells of {len(cells)}); use an unchanged copy of the image"
        )
    if not facts["intact"]:
        raise VerificationError(f"{path}: its cells do not match its checksum; use an unchanged copy of the image")
    return ids, facts


def _grid(cells: np.ndarray, columns: int, height: int, width: int) -> np.ndarray:
    """Cells in reading order, blank ones at the end of the last row: bool [rows * height, columns * width]."""
    rows = -(-len(cells) // columns)
    padded = np.zeros((rows * columns, cells.shape[1]), dtype=np.uint8)
    padded[: len(cells)] = cells
    px = np.unpackbits(padded, axis=1).reshape(rows, columns, height, width)
    return px.swapaxes(1, 2).reshape(rows * height, columns * width).astype(bool)


def _band(payload: bytes, width: int, cell_height: int) -> np.ndarray:
    """The facts as px: bool [whole cell heights, width]."""
    blob = _HEAD.pack(_MAGIC, len(payload)) + payload
    blob += struct.pack("<I", zlib.crc32(blob))
    bits = np.unpackbits(np.frombuffer(blob, dtype=np.uint8))
    per_line = width // _BIT
    lines = -(-len(bits) // per_line)
    lines += -(lines * _BIT) % cell_height // _BIT
    out = np.zeros(lines * per_line, dtype=bool)
    out[: len(bits)] = bits
    return out.reshape(lines, per_line).repeat(_BIT, axis=0).repeat(_BIT, axis=1)


def _read_band(ink: np.ndarray, path: str | Path) -> tuple[dict[str, Any], int]:
    """The facts in the band, and the px row where the grid begins."""
    inner = ink[MARGIN:-MARGIN, MARGIN:-MARGIN]
    bits = inner[: inner.shape[0] // _BIT * _BIT : _BIT, : inner.shape[1] // _BIT * _BIT : _BIT]
    blob = np.packbits(bits.reshape(-1)).tobytes() if bits.size else b""
    if not blob.startswith(_MAGIC):
        raise VtcError(f"{path}: not a page image of vtc, or a scaled or cropped one; {_MEND}")
    length = _HEAD.size + _HEAD.unpack_from(blob)[1]
    try:
        intact = zlib.crc32(blob[:length]) == struct.unpack_from("<I", blob, length)[0]
        facts = json.loads(blob[_HEAD.size : length]) if intact else {}
    except (struct.error, ValueError):
        facts = {}
    if not facts:
        raise VtcError(f"{path}: a page image whose band of facts is damaged; use an unchanged copy of the image")
    if facts.get("format") != FORMAT:
        raise VtcError(f"{path}: page image of format {facts.get('format')}, this program reads {FORMAT}; {_MEND}")
    lines = -(-(length + 4) * 8 // bits.shape[1])
    heights = -(-lines * _BIT // facts["cell_height"])
    return facts, MARGIN + heights * facts["cell_height"]


def _load_ink(path: Path) -> np.ndarray:
    """Any image file as bool [height, width], True where it is black; refuses one with other colours."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as picture:
            paper = Image.new("RGBA", picture.size, "white")
            paper.alpha_composite(picture.convert("RGBA"))
            px = np.asarray(paper.convert("RGB"))
    except UnidentifiedImageError as error:
        raise VtcError(f"{path}: not an image; {_MEND}") from error
    except Image.DecompressionBombError as error:
        raise VtcError(f"{path}: far larger than a page image; {_MEND}") from error
    except (OSError, SyntaxError) as error:
        reason = (
            explain(error, path) if isinstance(error, OSError) and error.errno else f"{path}: a damaged image ({error})"
        )
        raise VtcError(reason) from error
    ink = (px == 0).all(axis=2)
    if not (ink | (px == 255).all(axis=2)).all():
        raise VtcError(f"{path}: not a page image of vtc: it has px that are neither black nor white (a photo, JPEG or "
                       f"scaled copy cannot be read); {_MEND}")  # fmt: skip
    return ink
