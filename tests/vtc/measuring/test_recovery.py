"""Recovery and its interval against sums and loops by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtc.measuring.recovery import ENOUGH, context_recovery, recovery_interval


def test_the_sums_are_divided_and_not_the_stretches() -> None:
    none, own, full = np.array([10.0, 100.0]), np.array([9.0, 50.0]), np.array([8.0, 20.0])
    assert context_recovery(none, own, full) == pytest.approx((110 - 59) / (110 - 28))
    assert context_recovery(none, full, full) == 1 and context_recovery(none, none, full) == 0
    assert context_recovery(none, none + 41, full) == pytest.approx(-1)
    assert context_recovery(full, own, none) is None


@given(st.floats(-2, 2), st.integers(ENOUGH, 12), st.integers(0, 5))
def test_an_interval_has_no_width_where_all_stretches_recover_alike(share: float, count: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    none, full = draw.uniform(50, 900, count), draw.uniform(0, 40, count)
    low, high = recovery_interval(none, none - share * (none - full), full, seed)
    assert low == pytest.approx(share, abs=1e-9) and high == pytest.approx(share, abs=1e-9)


def test_an_interval_is_that_of_resamples_made_one_by_one() -> None:
    draw = np.random.default_rng(1)
    none, own, full = (draw.uniform(*ends, 8) for ends in ((200, 300), (120, 220), (100, 150)))
    low, high = recovery_interval(none, own, full)
    assert low is not None and high is not None
    shares = []
    for _ in range(4000):
        rows = draw.integers(0, 8, 8)
        shares.append(sum(none[i] - own[i] for i in rows) / sum(none[i] - full[i] for i in rows))
    shares.sort()
    assert [low, high] == pytest.approx([shares[100], shares[3900]], abs=0.03)
    middle = context_recovery(none, own, full)
    assert middle is not None and low < middle < high


def test_too_few_stretches_have_no_interval() -> None:
    few = np.arange(1.0, ENOUGH)
    assert recovery_interval(2 * few, 1.5 * few, few) == (None, None)
    enough = np.ones(ENOUGH)
    assert recovery_interval(enough, enough, enough) == (None, None)  # nothing helps, whatever is drawn
