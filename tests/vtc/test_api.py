"""compress and restore put the parts together: any bytes come back, and a failure loses nothing."""

from __future__ import annotations

import hashlib
import io
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vtc import api
from vtc.codecs.base import DecodedPage
from vtc.codecs.ids import IdsCodec
from vtc.document import Document
from vtc.records.errors import UsageError, VerificationError, VtcError

pytestmark = pytest.mark.usefixtures("byte_table")
TEXT = "Their wolves were there, and the lamb thought: \N{GREEK SMALL LETTER MU}m is small. ".encode() * 200


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=3000) | st.text(max_size=1000).map(str.encode), size=st.sampled_from([3, 100, 1024]))
def test_any_bytes_come_back(data: bytes, size: int) -> None:
    out = io.BytesIO()
    record = api.compress(data, out, codec="ids", page_symbols=size)
    assert api.restore(out.getvalue()) == data
    assert record == api.info(out.getvalue())
    assert (record["text_bytes"], record["document_bytes"]) == (len(data), len(out.getvalue()))


def test_paths_and_streams_give_the_same(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(TEXT)
    stream = io.BytesIO()
    with open(tmp_path / "in", "rb") as source:
        api.compress(source, stream, codec="ids")
    api.compress(tmp_path / "in", tmp_path / "out.vtc", codec="ids")
    assert (tmp_path / "out.vtc").read_bytes() == stream.getvalue()
    assert api.restore(str(tmp_path / "out.vtc"), tmp_path / "again") is None
    assert (tmp_path / "again").read_bytes() == TEXT
    again = io.BytesIO()
    api.restore(io.BytesIO(stream.getvalue()), again)
    assert again.getvalue() == TEXT


def test_info_says_what_design_asks_for(byte_level: ModuleType) -> None:
    out = io.BytesIO()
    api.compress(TEXT, out, codec="ids", page_symbols=500)
    found = api.info(out.getvalue())
    tokens = len(byte_level.vocabulary().encode(TEXT.decode()))
    expected = {
        "text_bytes": len(TEXT),
        "text_tokens": tokens,
        "latents": tokens,
        "width": 1,
        "dtype": "uint16",
        "codec": "ids",
        "codebook": None,
        "latent_ratio": 1.0,
        "byte_ratio": len(TEXT) / len(out.getvalue()),
        "pages": -(-tokens // 500),
        "exact": True,
        "density": 1,
        "sha256": hashlib.sha256(TEXT).hexdigest(),
    }
    assert {key: found[key] for key in expected} == expected


def test_an_empty_text_is_a_document_without_pages() -> None:
    out = io.BytesIO()
    record = api.compress(b"", out, codec="ids")
    assert (record["pages"], record["latents"], record["latent_ratio"], record["byte_ratio"]) == (0, 0, None, 0.0)
    assert api.restore(out.getvalue()) == b""


def damage_latents(path: Path, *pages: int) -> None:
    """Flip one bit in the first latent of each page, on disk."""
    with Document(path) as document:
        starts = [sum(len(document.page(j).coded.latents) for j in range(i)) * 2 for i in pages]
    data = bytearray(path.read_bytes())
    first = 8 + int.from_bytes(data[:8], "little")
    for start in starts:
        data[first + start] ^= 4
    path.write_bytes(data)


def test_damaged_pages_are_named_and_the_old_output_survives(tmp_path: Path) -> None:
    path, out = tmp_path / "a.vtc", tmp_path / "out"
    api.compress(TEXT, path, codec="ids", page_symbols=400)
    out.write_bytes(b"old")
    damage_latents(path, 1, 3)
    with pytest.raises(api.PagesFailed, match=r"a.vtc: pages 2, 4 of \d+ are damaged; .*--partial") as caught:
        api.restore(path, out)
    assert (caught.value.pages, caught.value.status, out.read_bytes()) == ([2, 4], 3, b"old")
    with pytest.raises(api.PagesFailed, match="the best guess was written") as caught:
        api.restore(path, out, partial=True)
    assert caught.value.pages == [2, 4]
    guess = out.read_bytes()
    assert sum(a != b for a, b in zip(guess, TEXT, strict=True)) == 2
    assert sorted(item.name for item in tmp_path.iterdir()) == ["a.vtc", "out"]


class Failing(IdsCodec):
    """A codec that cannot decode pages that hold its symbol 0."""

    def decode(self, pages: object) -> list[DecodedPage]:
        return [
            page if page.ids.all() else DecodedPage(page.ids + 1, page.confidence, False)
            for page in super().decode(pages)
        ]


def test_pages_that_do_not_decode_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(api.CODECS, "failing", "unused")
    monkeypatch.setattr(api, "lookup", lambda registry, name, kind: Failing)
    api.compress(b"ab" * 50 + b"\0" + b"ab" * 50, tmp_path / "a.vtc", codec="failing", page_symbols=100)
    assert api.load_vocabulary("").encode("\0").tolist() == [0]
    stream = io.BytesIO()
    with pytest.raises(api.PagesFailed, match="page 2 of 3 did not decode") as caught:
        api.restore(tmp_path / "a.vtc", stream)
    assert caught.value.pages == [2] and stream.getvalue() == b"ab" * 50


def test_a_text_with_another_hash_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api.compress(TEXT, tmp_path / "a.vtc", codec="ids")
    table = api.load_table("")
    decode = table.decode
    monkeypatch.setattr(table, "decode", lambda ids: decode(ids).replace(b"wolves", b"ghosts"))
    with pytest.raises(VerificationError, match="another SHA-256"):
        api.restore(tmp_path / "a.vtc", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_side_bytes_or_patches_that_no_codec_can_read_still_give_a_guess(tmp_path: Path) -> None:
    path, out = tmp_path / "a.vtc", tmp_path / "out"
    api.compress(b"caf\xe9 " * 40, path, codec="ids")
    data = bytearray(path.read_bytes())
    with Document(path) as document:
        size = document.header.tensors
    data[len(data) - size["index"] - size["patch"]] ^= 1  # the first byte of the only patch
    path.write_bytes(data)
    with pytest.raises(api.PagesFailed, match="page 1 of 1"):
        api.restore(path, out, partial=True)
    assert out.read_bytes().startswith(b"caf")


def test_another_table_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api.compress(TEXT, tmp_path / "a.vtc", codec="ids")
    monkeypatch.setattr(api.load_table(""), "hash", "f" * 64)
    with pytest.raises(VtcError, match="glyph table 0123456789ab of 'byte-level' and this one is ffffffffffff"):
        api.restore(tmp_path / "a.vtc")
    monkeypatch.setattr(api.load_table(""), "vocabulary_hash", "e" * 64)
    with pytest.raises(VtcError, match="python -m codebooks.table"):
        api.compress(TEXT, tmp_path / "b.vtc", codec="ids")


def test_unknown_codecs_and_options_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="did you mean 'ids'"):
        api.compress(TEXT, io.BytesIO(), codec="idz")
    with pytest.raises(UsageError, match="unknown option of codec 'ids' 'storge'; did you mean 'storage'"):
        api.compress(TEXT, io.BytesIO(), codec="ids", storge="uint16")
    with pytest.raises(UsageError, match="no such folder"):
        api.compress(TEXT, io.BytesIO(), codec="ids", artifacts="no/such/folder")


def test_the_folder_of_artefacts_holds_inside_the_call_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTC_ARTIFACTS", "before")
    with pytest.raises(RuntimeError), api.artifacts_at(tmp_path):
        assert os.environ["VTC_ARTIFACTS"] == str(tmp_path)
        raise RuntimeError
    assert os.environ["VTC_ARTIFACTS"] == "before"


def test_the_input_is_never_overwritten_and_links_and_pipes_stay(tmp_path: Path) -> None:
    source, document, link = tmp_path / "in", tmp_path / "a.vtc", tmp_path / "link"
    source.write_bytes(TEXT)
    with pytest.raises(UsageError, match="is the input itself"):
        api.compress(source, source, codec="ids")
    api.compress(source, document, codec="ids")
    with pytest.raises(UsageError, match="is the input itself"):
        api.restore(document, document)
    link.symlink_to(tmp_path / "behind")
    api.restore(document, link)
    assert link.is_symlink() and (tmp_path / "behind").read_bytes() == TEXT
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        received = pool.submit((tmp_path / "pipe").read_bytes)
        api.restore(document, tmp_path / "pipe")
        assert received.result() == TEXT and (tmp_path / "pipe").is_fifo()


def test_a_source_that_fails_is_the_one_that_is_named(tmp_path: Path) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(VtcError, match="the input: Input/output error"):
        api.compress(Broken(), tmp_path / "a.vtc", codec="ids")
    assert not list(tmp_path.iterdir())


def test_the_codec_sees_pages_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    encode = IdsCodec.encode

    def counting(codec: IdsCodec, pages: list[np.ndarray]) -> object:
        sizes.append(len(pages))
        return encode(codec, pages)

    monkeypatch.setattr(IdsCodec, "encode", counting)
    api.compress(b"x" * 700, io.BytesIO(), codec="ids", page_symbols=10)
    assert sizes == [32, 32, 6]
