"""A memory in a document: there when asked for, checked when read, and no concern of a document without one."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open

from vtc.codecs.base import CodedPage
from vtc.document import Document, Header, record, write_document
from vtc.document.header import pack_index
from vtc.records.errors import VerificationError, VtcError

HEADER = Header("hard", {"width": 3}, "some-llm", "aa" * 32, "bb" * 32, 6, exact=True)
ABOUT = {"reader": "kv", "options": {"ratio": 8.0, "rows": None}, "spans": [[0, 30]]}
BLOB = bytes(range(200))


def write(path: Path, blob: bytes = b"", pages: int = 2) -> Header:
    with write_document(path, HEADER) as document:
        for number in range(pages):
            coded = CodedPage(7, 1, np.full((2, 6), number, np.uint8), b"side")
            document.add(coded, b"fifteen bytes..", b"patch")
        if blob:
            document.attach(ABOUT, blob)
    assert document.size_bytes == path.stat().st_size
    return document.header


def stored_header(path: Path) -> dict[str, object]:
    with safe_open(path, framework="numpy") as archive:
        content: dict[str, object] = json.loads(archive.metadata()["vtc"])
    return content


def test_without_a_memory_the_file_is_that_of_before(tmp_path: Path) -> None:
    """Byte for byte what the program wrote before there were memories; zstd alone may pack the index otherwise."""
    write(tmp_path / "a.vtc")
    data = (tmp_path / "a.vtc").read_bytes()
    index = pack_index(np.array([[7, 1, crc32(bytes([i]) * 12 + b"sidepatch"), 15, 2, 4, 5] for i in range(2)]))
    text = (
        '{"kind":"document","version":1,"codec":"hard","config":{"width":3},"llm":"some-llm",'
        f'"vocabulary_hash":"{"aa" * 32}","table_hash":"{"bb" * 32}","latent_bytes":6,"codebook":null,"exact":true,'
        '"text_bytes":30,"text_tokens":14,"latents":4,"pages":2,'
        f'"sha256":"{hashlib.sha256(b"fifteen bytes.." * 2).hexdigest()}","index_crc32":{crc32(index)},'
        f'"tensors":{{"side":8,"patch":10,"index":{len(index)}}}}}'
    )
    tensors = {"latents": ([4, 6], 0, 24), "side": ([8], 24, 32), "patch": ([10], 32, 42)}
    tensors["index"] = ([len(index)], 42, 42 + len(index))
    head: dict[str, object] = {"__metadata__": {"vtc": text, "crc32": f"{crc32(text.encode()):08x}"}}
    for name, (shape, start, stop) in tensors.items():
        head[name] = {"dtype": "U8", "shape": shape, "data_offsets": [start, stop]}
    raw = json.dumps(head, separators=(",", ":")).encode()
    raw += b" " * (-len(raw) % 8)
    pages = bytes(12) + b"\1" * 12 + b"sideside" + b"patchpatch"
    assert data == len(raw).to_bytes(8, "little") + raw + pages + index
    with Document(tmp_path / "a.vtc") as document:
        assert document.header.memory is None
        with pytest.raises(VtcError, match=r"a\.vtc: holds no reader's latents; compress the text with --reader kv"):
            document.memory()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(blob=st.binary(min_size=1, max_size=300), pages=st.integers(0, 3))
def test_it_comes_back_beside_the_pages(tmp_path: Path, blob: bytes, pages: int) -> None:
    header = write(tmp_path / "a.vtc", blob, pages)
    expected = {**ABOUT, "stored_bytes": len(blob), "crc32": f"{crc32(blob):08x}"}
    with Document(tmp_path / "a.vtc") as document:
        assert document.memory() == blob and document.header == header and document.header.memory == expected
        assert [page.patch for page in document] == [b"patch"] * pages and document.damaged() == []
        assert record(document.header, document.size_bytes)["memory"] == expected
    assert stored_header(tmp_path / "a.vtc")["version"] == 2
    bare = write(tmp_path / "b.vtc", b"", pages)
    for name in ("text_bytes", "text_tokens", "latents", "pages", "sha256", "index_crc32"):
        assert getattr(header, name) == getattr(bare, name)


def test_the_byte_ratio_counts_it(tmp_path: Path) -> None:
    sizes = []
    for blob in (b"", bytes(10_000)):
        header = write(tmp_path / "a.vtc", blob)
        size = (tmp_path / "a.vtc").stat().st_size
        assert record(header, size)["byte_ratio"] == 30 / size
        sizes.append(size)
    assert sizes[1] - sizes[0] >= 10_000


def test_a_damaged_memory_spares_the_pages(tmp_path: Path) -> None:
    path = tmp_path / "a.vtc"
    write(path, BLOB)
    data = path.read_bytes()
    assert data.endswith(BLOB)
    for place in range(len(data) - len(BLOB), len(data), 7):
        damaged = bytearray(data)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with Document(path) as document:
            with pytest.raises(VerificationError, match=r"a\.vtc: its latents for reader 'kv' are damaged.*; fetch"):
                document.memory()
            assert document.damaged() == [] and document.page(1).coded.latents.tolist() == [[1] * 6] * 2


def test_a_header_that_speaks_of_another_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.vtc"
    write(path, BLOB)
    data = path.read_bytes()
    for damaged in (data[:-1], data + b"x"):
        path.write_bytes(damaged)
        with pytest.raises(VerificationError, match="truncated or damaged"):
            Document(path)


def test_attaching_twice_keeps_the_second_and_nothing_can_not_be_attached(tmp_path: Path) -> None:
    with write_document(tmp_path / "a.vtc", HEADER) as document:
        document.attach(ABOUT, b"first")
        document.attach({"reader": "other"}, b"second one")
        with pytest.raises(ValueError, match="at least one byte"):
            document.attach(ABOUT, b"")
    with Document(tmp_path / "a.vtc") as found:
        assert found.memory() == b"second one" and found.header.memory is not None
        assert found.header.memory["reader"] == "other"
