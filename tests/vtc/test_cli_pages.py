"""`vtc pages` and `vtc read`: any bytes come back from images, and what is missing, foreign or damaged is named."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from vtc import api, imaging
from vtc.cli import main
from vtc.glyphs.pages import MARGIN, read_page, write_page
from vtc.records.errors import UsageError, VerificationError, VtcError

TEXT = ("Their wolves were there, and the lamb thought about it.\n" * 40).encode()
STRANGE = {
    "empty": b"",
    "NULs": b"\0\0a\0",
    "invalid UTF-8": b"caf\xe9 \xff\xfe\xc0\x80 end",
    "CRLF and tabs": b"one\r\n\ttwo\r\n\r\n\t\tthree \r",
    "emoji": "👩‍👩‍👧‍👦 Z͑ͫ̓ͪ̂ͫ̽a\u202e مرحبا \ue000\U0010fffe".encode(),
    "one letter": b"a" * 5000,
    "random bytes": np.random.default_rng(0).bytes(3000),
}


@pytest.fixture
def table(byte_level: ModuleType, monkeypatch: pytest.MonkeyPatch) -> object:
    """The byte-level tokenizer and its table; like the default tokenizer it lacks some bytes."""
    return byte_level.install(monkeypatch, without=b"\0\x80\xc0\xff")


@pytest.fixture
def pages(table: object, tmp_path: Path) -> Path:
    """A text on several pages."""
    imaging.write(TEXT, tmp_path / "pages", page_symbols=300)
    assert len(list((tmp_path / "pages").iterdir())) > 3
    return tmp_path / "pages"


@pytest.mark.parametrize("data", STRANGE.values(), ids=STRANGE)
def test_strange_text_comes_back(data: bytes, table: object, tmp_path: Path) -> None:
    record = imaging.write(data, tmp_path / "pages", page_symbols=100)
    assert record["text_bytes"] == len(data) and record["pages"] == len(list((tmp_path / "pages").glob("*.png"))) > 0
    assert imaging.read([tmp_path / "pages"]) == data


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=400) | st.text(max_size=200).map(str.encode), size=st.sampled_from([1, 7, 64]))
def test_any_bytes_come_back(data: bytes, size: int, table: object, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "pages", ignore_errors=True)
    imaging.write(data, tmp_path / "pages", page_symbols=size)
    assert imaging.read([tmp_path / "pages"]) == data


def test_the_default_table_draws_and_reads(tmp_path: Path, llm_folder: Path) -> None:
    try:
        api.load_table(api.DEFAULT_LLM)
    except VtcError as error:
        pytest.skip(str(error))
    data = b"".join(STRANGE.values())
    imaging.write(data, tmp_path / "pages")
    assert imaging.read([tmp_path / "pages"]) == data
    with Image.open(tmp_path / "pages" / "page-0001.png") as page:
        assert 1 < page.height / page.width < 1.6  # a full page has the shape of paper


def test_verbs_and_documents(table: object, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data = TEXT + STRANGE["invalid UTF-8"]
    api.compress(data, tmp_path / "a.vtc", codec="ids", page_symbols=500)
    folder, out = tmp_path / "p", tmp_path / "out"
    assert main(["pages", str(tmp_path / "a.vtc"), "-o", str(folder), "--columns", "8", "--json"]) == 0
    record = json.loads(capfd.readouterr().out)
    assert record["pages"] == api.info(tmp_path / "a.vtc")["pages"] == len(list(folder.iterdir()))
    assert read_page(folder / "page-0001.png")[1]["columns"] == record["columns"] == 8
    assert record["image_bytes"] == sum(path.stat().st_size for path in folder.iterdir())
    assert main(["read", str(folder), "-o", str(out), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["exact"] is True and out.read_bytes() == data
    (folder / "page-0001.png").rename(folder / "page-0009.png")  # pages know their numbers; names do not matter
    assert main(["read", *map(str, sorted(folder.iterdir(), reverse=True)), "-o", str(out)]) == 0
    assert out.read_bytes() == data and "read exactly" in capfd.readouterr().out


def test_read_writes_to_standard_output(pages: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["read", str(pages)]) == 0
    assert capfdbinary.readouterr() == (TEXT, b"")


def failed(arguments: list[object], capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    status = main([str(argument) for argument in arguments])
    errors = capfd.readouterr().err
    assert errors.startswith("vtc: ") and errors.count("\n") == 1
    return status, errors


def test_missing_pages_are_named_and_nothing_is_written(
    pages: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"old")
    sizes = [read_page(path)[1]["text_bytes"] for path in sorted(pages.iterdir())]
    (pages / "page-0002.png").unlink()
    status, errors = failed(["read", pages, "-o", out], capfd)
    assert status == 3 and "page 2 is missing" in errors and str(pages) in errors and out.read_bytes() == b"old"
    status, errors = failed(["read", pages, "-o", out, "--partial"], capfd)
    assert status == 3 and "good pages were written" in errors
    assert out.read_bytes() == TEXT[: sizes[0]] + TEXT[sizes[0] + sizes[1] :]
    status, errors = failed(["read", pages / "page-0001.png", "-o", out], capfd)
    assert status == 3 and "pages after page 1 are missing" in errors


def test_one_page_alone_reads_with_partial(pages: Path, tmp_path: Path) -> None:
    size = read_page(pages / "page-0001.png")[1]["text_bytes"]
    stream = io.BytesIO()
    with pytest.raises(VerificationError, match="page 1 is missing"):
        imaging.read([pages / "page-0002.png"], stream, partial=True)
    following = read_page(pages / "page-0002.png")[1]["text_bytes"]
    assert stream.getvalue() == TEXT[size : size + following]


def test_pages_of_two_texts_or_twice_the_same_are_refused(
    table: object, pages: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(pages / "page-0003.png", pages / "page-x.png")
    status, errors = failed(["read", pages], capfd)
    assert status == 3 and "are both page 3" in errors
    imaging.write(TEXT.replace(b"wolves", b"WOLVES", 1), tmp_path / "other", page_symbols=300)
    (pages / "page-x.png").unlink()
    shutil.copy(tmp_path / "other" / "page-0001.png", pages / "page-0001.png")
    status, errors = failed(["read", pages], capfd)
    assert status == 3 and "belongs to another text" in errors
    last = max(path.name for path in pages.iterdir())
    shutil.copy(tmp_path / "other" / last, pages / last)
    with pytest.raises(VerificationError, match="another text"):
        imaging.read([pages])


def test_a_damaged_page_is_named_and_the_others_read(
    pages: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = pages / "page-0002.png"
    px = np.asarray(Image.open(path)).copy()
    px[px.shape[0] - MARGIN - 3, MARGIN + 3] ^= True
    Image.fromarray(px).save(path)
    status, errors = failed(["read", pages], capfd)
    assert status == 3 and f"{path}: the cell in row" in errors
    out = tmp_path / "out"
    assert failed(["read", pages, "-o", out, "--partial"], capfd)[0] == 3
    start = read_page(pages / "page-0001.png")[1]["text_bytes"]
    lost = read_page(path)[1]["text_bytes"]
    assert out.read_bytes() == TEXT[:start] + TEXT[start + lost :]


def test_facts_that_are_missing_are_named(table: object, tmp_path: Path) -> None:
    cell = SimpleNamespace(cell_height=16, cell_width=32)
    write_page(tmp_path / "page-1.png", table.images[:9], 4, cell, {"table": table.hash, "llm": "x", "page": 1})
    with pytest.raises(VerificationError, match=r"page-1.png: does not say its text_bytes and before") as caught:
        imaging.read([tmp_path])
    assert caught.value.status == 3


def test_other_files_are_refused(pages: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Image.new("1", (300, 300), 1).save(pages / "page-0000.png")
    status, errors = failed(["read", pages], capfd)
    assert status == 1 and "page-0000.png: not a page image of vtc" in errors
    (tmp_path / "none").mkdir()
    assert failed(["read", tmp_path / "none"], capfd)[0] == 2
    assert failed(["read", tmp_path / "absent.png"], capfd)[0] == 1


def test_old_pages_stay_and_a_failure_leaves_nothing(
    pages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    status, errors = failed(["pages", pages / "page-0001.png", "-o", pages], capfd)
    assert status == 2 and "holds page images already" in errors and imaging.read([pages]) == TEXT
    assert failed(["pages", tmp_path / "absent", "-o", tmp_path / "new"], capfd)[0] == 1
    assert failed(["pages", pages / "page-0001.png", "-o", tmp_path / "new", "--columns", "0"], capfd)[0] == 2
    calls = []

    def full(*arguments: object) -> None:
        calls.append(arguments)
        if len(calls) == 3:
            raise VtcError("the disk is full")
        write_page(*arguments)

    monkeypatch.setattr("vtc.imaging.writing.write_page", full)
    with pytest.raises(VtcError, match="full"):
        imaging.write(TEXT, tmp_path / "new", page_symbols=100)
    assert not (tmp_path / "new").exists()


def test_a_damaged_document_is_not_drawn(table: object, tmp_path: Path) -> None:
    path = tmp_path / "a.vtc"
    api.compress(TEXT, path, codec="ids", page_symbols=300)
    data = bytearray(path.read_bytes())
    data[8 + int.from_bytes(data[:8], "little") + 1000] ^= 1
    path.write_bytes(data)
    with pytest.raises(api.PagesFailed, match="page 2 of"):
        imaging.write(path, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_pages_too_large_for_an_image_are_refused(table: object, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="lower --page-symbols"):
        imaging.write(b"z" * 40000, tmp_path / "new", page_symbols=40000)
