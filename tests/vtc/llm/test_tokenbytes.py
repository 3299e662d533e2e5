"""Bytes of ids without a tokenizer, compared with joining Python's byte strings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtc.llm import tokenbytes
from vtc.llm.tokenbytes import TokenBytes
from vtc.records.errors import VtcError

PIECES = st.lists(st.binary(max_size=5), min_size=1, max_size=30)


@given(PIECES, st.lists(st.integers(0, 2**31), max_size=60))
def test_decode_joins_the_pieces(pieces: list[bytes], picks: list[int]) -> None:
    ids = np.array([pick % len(pieces) for pick in picks], np.int32)
    assert TokenBytes.of(pieces).decode(ids) == b"".join(pieces[i] for i in ids)


def test_decode_runs_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenbytes, "CHUNK", 4)
    pieces = [b"", b"a", b"bc", b"def"]
    ids = np.arange(23) % 4
    assert TokenBytes.of(pieces).decode(ids) == b"".join(pieces[i] for i in ids)


@pytest.mark.parametrize("ids", [[0, 2], [-1]])
def test_ids_outside_are_refused(ids: list[int]) -> None:
    with pytest.raises(VtcError, match=r"exceed the vocabulary \(0 to 1\)"):
        TokenBytes.of([b"a", b"b"]).decode(np.array(ids))


@given(PIECES, PIECES)
def test_equal_hashes_mean_equal_pieces(one: list[bytes], other: list[bytes]) -> None:
    assert (TokenBytes.of(one).hash == TokenBytes.of(other).hash) == (one == other)


def test_the_hash_tells_where_pieces_end_and_never_changes() -> None:
    assert TokenBytes.of([b"ab", b"c"]).hash != TokenBytes.of([b"a", b"bc"]).hash
    assert TokenBytes.of([b"ab", b"", b"c"]).hash == "9662f1caa17993f016be2036f1f76bd19856497777f2bb6153e1898fe7b204ae"
