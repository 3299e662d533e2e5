"""Bootstrap intervals against a loop written out, and what counts as a document."""

from __future__ import annotations

import numpy as np
import pytest

from eval.bootstrap import RESAMPLES, Metric, by_document, estimates
from eval.schema import Sample


def sample(item: str, probe: str = "p", refused: str = "", system: str = "s", **measures: float) -> Sample:
    facts = {"text_bytes": 10, "text_tokens": 5, "positions": 1.0, "latents": None, "stored_bytes": None}
    return Sample(
        task="t",
        system=system,
        item=item,
        subset="x",
        probe=probe,
        tags={},
        measures=measures,
        reference="",
        output="",
        refused=refused,
        prepare_seconds=0.0,
        seconds=0.0,
        **facts,
    )


SHARE = Metric(lambda own, _: own.share("right", "asked"))
RELATIVE = Metric(lambda own, others: own.sum("right") / others["text"].sum("right"), against=("text",))


def test_the_value_and_the_interval_are_those_of_a_loop_over_resamples() -> None:
    rng = np.random.default_rng(5)
    right, asked = rng.integers(0, 4, 17), rng.integers(4, 9, 17)
    rows = [sample(str(i), right=float(r), asked=float(a)) for i, (r, a) in enumerate(zip(right, asked, strict=True))]
    found = estimates({"share": SHARE}, rows, {}, seed=3)["share"]
    draws = np.random.default_rng(3).integers(0, 17, (RESAMPLES, 17))
    values = [sum(right[i] for i in draw) / sum(asked[i] for i in draw) for draw in draws]
    assert found.value == pytest.approx(right.sum() / asked.sum())
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])))
    assert found.low < found.value < found.high
    assert estimates({"share": SHARE}, rows, {}, seed=3)["share"] == found


def test_the_interval_covers_as_often_as_it_says() -> None:
    rng, covered = np.random.default_rng(0), 0
    for trial in range(150):
        rows = [sample(str(i), right=float(rng.random() < 0.6), asked=1.0) for i in range(60)]
        found = estimates({"share": SHARE}, rows, {}, seed=trial, resamples=300)["share"]
        covered += found.low <= 0.6 <= found.high
    assert 0.88 <= covered / 150 <= 0.99


def test_a_relative_metric_counts_only_what_the_control_served_and_others_count_all() -> None:
    own = [sample("a", right=1.0, asked=1.0), sample("b", right=1.0, asked=1.0), sample("c", right=0.0, asked=1.0)]
    text = [sample("a", right=1.0), sample("b", right=0.0), sample("c", refused="too long")]
    found = estimates({"share": SHARE, "relative": RELATIVE}, own, {"text": text})
    assert found["share"].value == pytest.approx(2 / 3)
    assert found["relative"].value == pytest.approx(2.0)  # of a and b


def test_shared_luck_cancels_in_a_relative_metric() -> None:
    """A system that is right exactly where its control is has no spread at all against it."""
    rows = [sample(str(i), right=float(i % 3), asked=2.0) for i in range(20)]
    found = estimates({"share": SHARE, "relative": RELATIVE}, rows, {"text": rows})
    assert found["relative"].low == found["relative"].high == 1.0
    assert found["share"].low < found["share"].high


def test_what_there_is_nothing_of_is_left_out() -> None:
    rows = [sample("a", right=0.0, asked=0.0), sample("b", refused="no")]
    assert estimates({"share": SHARE}, rows, {}) == {}
    assert estimates({"share": SHARE}, [sample("a", refused="no")], {}) == {}
    assert estimates({"other": Metric(lambda own, _: own.mean("nowhere"))}, rows, {}) == {}


def test_probes_of_a_document_are_one_unit() -> None:
    rows = [sample("a", "1", x=1.0), sample("a", "2", x=2.0), sample("b", "1", x=4.0)]
    assert by_document(rows) == {"a": {"count": 2.0, "x": 3.0}, "b": {"count": 1.0, "x": 4.0}}
    quantile = Metric(lambda own, _: own.quantile("x", 0.5))
    assert estimates({"median": quantile}, rows, {})["median"].value == pytest.approx((1.5 + 4) / 2)
