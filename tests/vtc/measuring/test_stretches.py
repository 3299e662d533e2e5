"""Where a text is cut for measuring, against the text itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtc.measuring.stretches import SHORTEST, cut
from vtc.records.errors import UsageError


@given(st.integers(66, 3000), st.integers(1, 9), st.integers(64, 700), st.integers(1, 40), st.integers(0, 3))
def test_stretches_are_disjoint_pieces_of_the_text_in_its_order(
    n: int, count: int, tokens: int, after: int, seed: int
) -> None:
    ids = np.arange(n, dtype=np.int32)
    if n < SHORTEST + after + 1:
        with pytest.raises(UsageError, match=f"a.txt: holds {n} tokens"):
            cut(ids, count, tokens, after, seed, "a.txt")
        return
    found = cut(ids, count, tokens, after, seed, "a.txt")
    whole = n // (tokens + after + 1)
    assert len(found) == max(1, min(count, whole))
    last = -1
    for part in found:
        joined = np.concatenate([part.document, part.held_out])
        assert joined[0] > last and joined.tolist() == list(range(joined[0], joined[-1] + 1))
        assert len(part.held_out) == after + 1
        assert len(part.document) == (tokens if whole else n - after - 1)
        last = joined[-1]


def test_the_seed_draws_which_of_many() -> None:
    ids = np.arange(100_000)
    first, again, other = ([part.document[0] for part in cut(ids, 5, 100, 9, seed, "a")] for seed in (0, 0, 1))
    assert first == again != other
