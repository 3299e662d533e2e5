"""Passages: every byte once, within the size, ending where a reader would stop."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtc.readers.passages import iter_passages


@given(
    pages=st.lists(st.binary(max_size=50) | st.text(alphabet="ab \n.。漢", max_size=40).map(str.encode)), data=st.data()
)
def test_every_byte_once_and_no_longer_than_asked(pages: list[bytes], data: st.DataObject) -> None:
    size = data.draw(st.integers(8, 60))
    text, found = b"".join(pages), list(iter_passages(pages, size))
    assert b"".join(passage.text for passage in found) == text
    assert all(text[passage.start : passage.stop] == passage.text for passage in found)
    assert all(size // 2 <= len(passage.text) <= size for passage in found[:-1])
    assert not found or 1 <= len(found[-1].text) <= size


@given(text=st.text(alphabet="aé漢\N{PILE OF POO} \n"), size=st.integers(8, 30))
def test_no_character_is_cut(text: str, size: int) -> None:
    found = list(iter_passages([text.encode()], size))
    assert "".join(passage.text.decode() for passage in found) == text


@given(text=st.binary(min_size=100, max_size=300), cuts=st.lists(st.integers(0, 300)))
def test_pages_make_no_difference(text: bytes, cuts: list[int]) -> None:
    ends = sorted(min(cut, len(text)) for cut in cuts)
    pages = [text[a:b] for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]
    assert list(iter_passages(pages, 20)) == list(iter_passages([text], 20))


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("one two..\n\nthree\nfour. five", "one two..\n\n"),
        ("one two, three\nfour. five six", "one two, three\n"),
        ("one two, three. five six seven", "one two, three. "),
        ("一二三。四五六七八九十", "一二三。"),
        ("one two three four five six", "one two three "),
        ("0123456789012345678901234567", "0123456789012345"),
        ("one\n\ntwo three four five six", "one\n\ntwo three "),
    ],
    ids=["paragraph", "line", "sentence", "full stop without a space", "word", "none", "not in the first half"],
)
def test_where_a_passage_ends(text: str, first: str) -> None:
    assert next(iter_passages([text.encode()], 16)).text.decode() == first
