"""Loading a glyph table: what was saved comes back, and anything else is refused in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vtc.glyphs.table import KIND, VERSION, GlyphTable, recipe_hash, table_path
from vtc.llm.tokenbytes import TokenBytes
from vtc.records.artefact import save_artefact
from vtc.records.errors import VtcError

PIECES = [b"a", b"", b"\xff\xfe", b"bcd"]


def save(path: Path, kind: str = KIND, version: int = VERSION, **more: np.ndarray) -> None:
    features = np.eye(4, 64, dtype=np.float16)
    tensors = {
        "features": features,
        "images": np.arange(32, dtype=np.uint8).reshape(4, 8),
        "token_lengths": np.array([len(piece) for piece in PIECES], "<u2"),
        "token_bytes": np.frombuffer(b"".join(PIECES), np.uint8),
        **more,
    }
    meta = {"version": version, "name": "tiny", "recipe": "r" * 64, "vocabulary": "v" * 64, "cell": [4, 16]}
    save_artefact(path, kind, tensors, meta)


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    save(path, embeddings=np.ones((4, 3), np.float16))
    table = GlyphTable.load(path=path)
    assert (len(table), table.name, table.hash, table.vocabulary_hash) == (4, "tiny", "r" * 64, "v" * 64)
    assert (table.cell, table.features.dtype, table.features.shape) == ((4, 16), np.float32, (4, 64))
    assert table.tokens.hash == TokenBytes.of(PIECES).hash
    assert table.decode(np.array([3, 2, 1, 0])) == b"bcd\xff\xfea"
    assert (table.embeddings.shape, table.embeddings.dtype) == ((4, 3), np.float16)


def test_a_table_is_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTC_ARTIFACTS", str(tmp_path))
    assert table_path("owner/model") == tmp_path / "table-owner--model.safetensors"
    save(table_path("owner/model"))
    assert GlyphTable.load("owner/model").path == table_path("owner/model")


def damaged(path: Path) -> None:
    save(path)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


CASES: dict[str, tuple[Any, str]] = {
    "missing": (lambda path: None, "no glyph table for smollm2-135m; build it .* `make artefacts` .*--artifacts DIR"),
    "damaged": (damaged, "does not match its hash; build or fetch it again"),
    "truncated": (lambda path: (save(path), path.write_bytes(path.read_bytes()[:-9])), "damaged"),
    "text": (lambda path: path.write_text("hello"), "not a vtc glyph table or damaged"),
    "kind": (lambda path: save(path, kind="atlas"), "is not a vtc glyph table"),
    "version": (lambda path: save(path, version=99), "version 99, this program reads 1; build it again"),
    "directory": (lambda path: path.mkdir(), "t.safetensors"),
}


@pytest.mark.parametrize("case", CASES)
def test_anything_else_is_refused_in_one_line(tmp_path: Path, case: str) -> None:
    path = tmp_path / "t.safetensors"
    make, message = CASES[case]
    make(path)
    with pytest.raises(VtcError, match=message) as caught:
        GlyphTable.load(path=path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_table_without_embedding_rows_says_so(tmp_path: Path) -> None:
    path = tmp_path / "t.safetensors"
    save(path)
    table = GlyphTable.load(path=path)
    with pytest.raises(VtcError, match=r"t\.safetensors: built without embedding rows; .* without --no-embeddings"):
        _ = table.embeddings


def test_the_recipe_hangs_on_atlas_vocabulary_and_rank() -> None:
    recipes = {recipe_hash(*args) for args in [("a", "v", 64), ("b", "v", 64), ("a", "w", 64), ("a", "v", 128)]}
    assert len(recipes) == 4 and recipe_hash("a", "v", 64) in recipes
