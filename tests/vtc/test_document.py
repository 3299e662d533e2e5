"""The `.vtc` file: plain safetensors, small, written whole or not at all, and every damaged bit is noticed."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from vtc.codecs.base import CodedPage
from vtc.document import Document, Header, name_pages, write_document, writer
from vtc.document.header import COLUMNS, pack_index, unpack_index
from vtc.records.artefact import save_artefact
from vtc.records.errors import VerificationError, VtcError

LATENT_BYTES = 6
HEADER = Header("hard", {"width": 3, "storage": "float16"}, "some-llm", "aa" * 32, "bb" * 32, LATENT_BYTES, exact=True)
Row = tuple[CodedPage, bytes, bytes]


def random_pages(count: int, seed: int = 0) -> list[Row]:
    """Pages with random latents, side bytes, texts and, now and then, a patch."""
    generator = np.random.default_rng(seed)
    pages = []
    for i in range(count):
        latents = generator.integers(0, 256, (int(generator.integers(14, 17)), LATENT_BYTES), np.uint8)
        coded = CodedPage(
            1024 if i < count - 1 else 17, int(generator.integers(1 << 32)), latents, generator.bytes(i % 3)
        )
        text = generator.bytes(int(generator.integers(3000, 5000)))
        pages.append((coded, text, generator.bytes(9) if i % 5 == 4 else b""))
    return pages


def write(path: Path, pages: Iterable[Row], header: Header = HEADER) -> Header:
    with write_document(path, header) as document:
        for coded, text, patch in pages:
            document.add(coded, text, patch)
    assert document.size_bytes == path.stat().st_size
    return document.header


def test_pages_come_back_one_by_one(tmp_path: Path) -> None:
    pages = random_pages(12)
    header = write(tmp_path / "a.vtc", pages)
    text = b"".join(text for _, text, _ in pages)
    assert (header.pages, header.text_bytes, header.text_tokens) == (12, len(text), 11 * 1024 + 17)
    assert header.sha256 == hashlib.sha256(text).hexdigest()
    assert header.latents == sum(len(coded.latents) for coded, _, _ in pages)
    with Document(tmp_path / "a.vtc") as document:
        assert document.header == header and len(document) == 12 and document.damaged() == []
        for i in (7, 0, 11):  # in any order
            stored, (coded, text, patch) = document.page(i), pages[i]
            assert stored.intact and (stored.text_bytes, stored.patch) == (len(text), patch)
            assert (stored.coded.symbols, stored.coded.checksum) == (coded.symbols, coded.checksum)
            assert stored.coded.side == coded.side
            np.testing.assert_array_equal(stored.coded.latents, coded.latents)
        assert document.text_spans.tolist() == np.cumsum([0, *(len(text) for _, text, _ in pages)]).tolist()


def test_any_safetensors_loader_reads_the_file(tmp_path: Path) -> None:
    pages = random_pages(6)
    write(tmp_path / "a.vtc", pages)
    with safe_open(tmp_path / "a.vtc", framework="numpy") as archive:
        content = json.loads(archive.metadata()["vtc"])
    assert (content["kind"], content["version"], content["pages"]) == ("document", 1, 6)
    tensors = load_file(tmp_path / "a.vtc")
    np.testing.assert_array_equal(tensors["latents"], np.concatenate([coded.latents for coded, _, _ in pages]))
    assert tensors["side"].tobytes() == b"".join(coded.side for coded, _, _ in pages)
    assert tensors["patch"].tobytes() == b"".join(patch for _, _, patch in pages)


def test_a_page_costs_at_most_sixteen_bytes_beside_its_content(tmp_path: Path) -> None:
    sizes = []
    for count in (100, 400):
        pages = random_pages(count)
        write(tmp_path / "a.vtc", pages)
        content = sum(coded.latents.nbytes + len(coded.side) + len(patch) for coded, _, patch in pages)
        sizes.append((tmp_path / "a.vtc").stat().st_size - content)
    assert (sizes[1] - sizes[0]) / 300 <= 16
    write(tmp_path / "a.vtc", random_pages(1))
    assert (tmp_path / "a.vtc").stat().st_size <= 1100 + 16 * LATENT_BYTES


def test_a_document_without_pages(tmp_path: Path) -> None:
    header = write(tmp_path / "a.vtc", [])
    with Document(tmp_path / "a.vtc") as document:
        assert document.header == header and len(document) == 0 and list(document) == []


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, VtcError])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    monkeypatch.setattr(writer, "SPOOL_BYTES", 1000)  # so that pages spill into a file beside the target
    path = tmp_path / "a.vtc"
    path.write_bytes(b"old")
    pages = random_pages(50)

    def failing() -> Iterable[Row]:
        yield from pages
        raise error

    with pytest.raises(error):
        write(path, failing())
    assert path.read_bytes() == b"old" and [item.name for item in tmp_path.iterdir()] == ["a.vtc"]


def test_latents_of_another_shape_are_a_programming_error(tmp_path: Path) -> None:
    coded = CodedPage(1, 0, np.zeros((1, LATENT_BYTES + 1), np.uint8), b"")
    with pytest.raises(ValueError, match="uint8"):
        write(tmp_path / "a.vtc", [(coded, b"", b"")])


def problem(path: Path) -> Exception | list[int] | None:
    """What is found wrong with a file: an error on opening, damaged pages, or nothing."""
    try:
        with Document(path) as document:
            return document.damaged() or None
    except VtcError as error:
        assert str(path) in str(error) and "\n" not in str(error) and ";" in str(error)
        return error


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    write(tmp_path / "a.vtc", random_pages(3))
    data = (tmp_path / "a.vtc").read_bytes()
    path = tmp_path / "b.vtc"
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        assert problem(path), f"a flip in byte {position} was not noticed"


def test_a_damaged_latent_is_named_by_its_page(tmp_path: Path) -> None:
    pages = random_pages(5)
    write(tmp_path / "a.vtc", pages)
    data = bytearray((tmp_path / "a.vtc").read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    before = sum(pages[i][0].latents.nbytes for i in range(3))
    data[start + before] ^= 1
    data[start + before - 1] ^= 1
    (tmp_path / "a.vtc").write_bytes(data)
    assert problem(tmp_path / "a.vtc") == [2, 3]


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    write(tmp_path / "a.vtc", random_pages(3))
    data = (tmp_path / "a.vtc").read_bytes()
    for length in range(0, len(data), 5):
        (tmp_path / "b.vtc").write_bytes(data[:length])
        found = problem(tmp_path / "b.vtc")
        assert isinstance(found, VtcError)
        assert isinstance(found, VerificationError) or length < 64
    (tmp_path / "b.vtc").write_bytes(data + b"more")
    assert isinstance(problem(tmp_path / "b.vtc"), VerificationError)


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.vtc"
    for content in (b"", b"just text, long enough to be read as a length", bytes(1000), b"PK\x03\x04" * 100):
        path.write_bytes(content)
        found = problem(path)
        assert isinstance(found, VtcError) and found.status == 1 and "not a vtc document" in str(found)
    save_file({"weight": np.zeros(3)}, path)
    assert "another kind of safetensors" in str(problem(path))
    save_artefact(path, "atlas", {"bitmap": np.zeros(3)}, {"version": 1})
    assert "a vtc atlas" in str(problem(path))
    path.unlink()
    assert "no such file" in str(problem(path))
    assert "is a directory" in str(problem(tmp_path))


def reheaded(data: bytes, **changes: object) -> bytes:
    """The file with fields of its header changed and the header's checksum made right again."""
    length = int.from_bytes(data[:8], "little")
    head = json.loads(data[8 : 8 + length])
    text = json.dumps({**json.loads(head["__metadata__"]["vtc"]), **changes})
    head["__metadata__"] = {"vtc": text, "crc32": f"{zlib.crc32(text.encode()):08x}"}
    raw = json.dumps(head).encode()
    return len(raw).to_bytes(8, "little") + raw + data[8 + length :]


def test_a_newer_format_and_a_contradicting_header_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.vtc"
    write(path, random_pages(3))
    data = path.read_bytes()
    path.write_bytes(reheaded(data))
    assert problem(path) is None
    path.write_bytes(reheaded(data, version=3))
    assert "upgrade vtc-llm" in str(problem(path))
    for field in ("text_bytes", "text_tokens", "latents", "pages"):
        path.write_bytes(reheaded(data, **{field: 99}))
        assert isinstance(problem(path), VerificationError), field


def test_another_vocabulary_or_table_is_refused_with_the_reason(tmp_path: Path) -> None:
    write(tmp_path / "a.vtc", random_pages(1))
    with Document(tmp_path / "a.vtc") as document:
        document.check_table(SimpleNamespace(hash="bb" * 32, vocabulary_hash="aa" * 32))
        for table, what in (
            (SimpleNamespace(hash="bb" * 32, vocabulary_hash="cc" * 32), "vocabulary aaaaaaaaaaaa of 'some-llm'.*cccc"),
            (
                SimpleNamespace(hash="dd" * 32, vocabulary_hash="aa" * 32),
                "glyph table bbbbbbbbbbbb of 'some-llm'.*dddd",
            ),
        ):
            with pytest.raises(VtcError, match=f"a.vtc: .*{what}"):
                document.check_table(table)


@given(rows=st.lists(st.tuples(*[st.integers(0, 2**32 - 1)] * len(COLUMNS)), min_size=1, max_size=20))
def test_the_index_comes_back(rows: list[tuple[int, ...]]) -> None:
    table = np.array(rows, np.int64)
    np.testing.assert_array_equal(unpack_index(pack_index(table), len(rows)), table)
    with pytest.raises(ValueError, match="length"):
        unpack_index(pack_index(table), len(rows) + 1)


def test_page_names_are_counted_from_one_and_joined() -> None:
    assert name_pages([3]) == "page 4"
    assert name_pages([6, 0, 1, 2]) == "pages 1-3, 7"
    assert name_pages(list(range(0, 100, 2))).endswith("13, 15, ..")
