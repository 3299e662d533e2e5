"""Bytes -> pages -> the same bytes, for any bytes and for tokenizers that lose some of them."""

from __future__ import annotations

import io
import random
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vtc.document.paging import CHUNK_BYTES, TextPage, iter_chunks, iter_pages, page_text
from vtc.records.errors import UsageError

PROSE = "The wolf and the lamb went in; the water was warm, and neither asked the other why.\n"


class Letters:
    """A lossy tokenizer in one line: one token per byte of what `change` makes of the text."""

    token_bytes = [bytes([value]) for value in range(256)]

    def __init__(self, change: object = str.lower) -> None:
        self.change = change

    def encode_batch(self, texts: list[str]) -> list[np.ndarray]:
        return [np.frombuffer(self.change(text).encode(), np.uint8).astype(np.int32) for text in texts]

    def decode(self, ids: np.ndarray) -> bytes:
        return np.asarray(ids).astype(np.uint8).tobytes()


class Pipe(io.BytesIO):
    """Gives a little at a time, as a pipe does, and counts."""

    given = 0

    def read(self, size: int = -1, /) -> bytes:
        data = super().read(min(size, 5000))
        self.given += len(data)
        return data


def check(data: bytes, vocabulary: object, size: int) -> list[TextPage]:
    """Page `data` and compare everything that must hold for any bytes."""
    pages = list(iter_pages(io.BytesIO(data), vocabulary, size))
    assert b"".join(page.text for page in pages) == data
    assert all(len(page.ids) == size for page in pages[:-1]) and all(1 <= len(page.ids) <= size for page in pages[-1:])
    for page in pages:
        assert page_text(vocabulary, page.ids, len(page.text), page.patch) == page.text
        assert bool(page.patch) == (vocabulary.decode(page.ids) != page.text)
    return pages


BYTES = st.binary(max_size=400) | st.text(max_size=200).map(str.encode) | st.just(PROSE.encode())


@settings(max_examples=60, deadline=None)
@given(data=st.lists(BYTES, max_size=4).map(b"".join), size=st.sampled_from([1, 2, 7, 64, 1024]))
def test_any_bytes_come_back(byte_level: ModuleType, data: bytes, size: int) -> None:
    check(data, byte_level.vocabulary(), size)
    check(data, byte_level.vocabulary(without=b"\x00\xe2\xff"), size)


@settings(max_examples=60, deadline=None)
@given(
    data=st.lists(BYTES, max_size=4).map(b"".join),
    size=st.sampled_from([1, 5, 300]),
    change=st.sampled_from([str.lower, lambda text: "", lambda text: text * 2, lambda text: text[::3], str.split]),
)
def test_any_bytes_come_back_from_a_lossy_tokenizer(data: bytes, size: int, change: object) -> None:
    words = (lambda text: "".join(text.split())) if change is str.split else change
    check(data, Letters(words), size)


def test_text_is_tokenised_as_a_whole_and_needs_no_patch(byte_level: ModuleType) -> None:
    vocabulary = byte_level.vocabulary()
    text = PROSE * 50
    pages = check(text.encode(), vocabulary, 100)
    np.testing.assert_array_equal(np.concatenate([page.ids for page in pages]), vocabulary.encode(text))
    assert not any(page.patch for page in pages)


def test_one_bad_byte_costs_a_few_bytes(byte_level: ModuleType) -> None:
    data = (PROSE * 8000).encode()
    middle = len(data) // 2
    pages = check(data[:middle] + b"\xff" + data[middle:], byte_level.vocabulary(), 256)
    patches = [len(page.patch) for page in pages if page.patch]
    assert 1 <= len(patches) <= 8 and sum(patches) < 40 * len(patches)


@pytest.mark.parametrize("kilobytes", [300, pytest.param(10240, marks=pytest.mark.slow)])
def test_binary_data_costs_its_own_size(byte_level: ModuleType, kilobytes: int) -> None:
    data = random.Random(1).randbytes(kilobytes << 10)
    pages = check(data, byte_level.vocabulary(), 1024)
    assert sum(len(page.patch) for page in pages) < 1.05 * len(data)


@settings(max_examples=100, deadline=None)
@given(data=st.text(alphabet="aé漢😀 \n", max_size=300).map(str.encode), size=st.integers(8, 40))
def test_chunks_are_whole_characters_and_whole_lines(data: bytes, size: int) -> None:
    chunks = list(iter_chunks(Pipe(data), size))
    assert b"".join(chunks) == data
    for chunk in chunks:
        chunk.decode("utf-8")  # strict
        assert len(chunk) <= size
    for chunk, following in zip(chunks, chunks[1:], strict=False):
        tail = chunk[size // 2 :]
        assert chunk.endswith(b"\n") or b"\n" not in tail
        assert chunk.endswith(b"\n") or following.startswith(b" ") or b" " not in tail


@settings(max_examples=100, deadline=None)
@given(data=st.binary(max_size=300), size=st.integers(1, 40))
def test_chunks_of_any_bytes_advance(data: bytes, size: int) -> None:
    chunks = list(iter_chunks(io.BytesIO(data), size))
    assert b"".join(chunks) == data and all(1 <= len(chunk) <= size for chunk in chunks)


def test_pages_come_out_while_the_source_is_still_being_read(byte_level: ModuleType) -> None:
    pipe = Pipe((PROSE * 20000).encode())
    seen = 0
    for page in iter_pages(pipe, byte_level.vocabulary(), 1024):
        seen += len(page.text)
        assert pipe.given - seen <= 2 * CHUNK_BYTES
    assert seen == pipe.given == 20000 * len(PROSE)


@pytest.mark.parametrize("size", [0, -1, 65537])
def test_impossible_page_sizes_are_usage_errors(byte_level: ModuleType, size: int) -> None:
    with pytest.raises(UsageError, match="--page-symbols"):
        next(iter_pages(io.BytesIO(b"text"), byte_level.vocabulary(), size))


def test_a_patch_that_fits_no_symbols_is_left_out(byte_level: ModuleType) -> None:
    vocabulary = byte_level.vocabulary()
    ids = vocabulary.encode("the lamb")
    assert page_text(vocabulary, ids, 8, b"no patch at all") == b"the lamb"
