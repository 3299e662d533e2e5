"""Metrics relative to the controls, against the formulas by hand."""

from __future__ import annotations

import numpy as np
import pytest

from eval.bootstrap import Metric, estimates
from eval.schema import Sample
from eval.tasks.relative import mean, recovery, relative


def rows(system: str, values: list[float]) -> list[Sample]:
    common = ("", "", "", 1, 1, None, None, None, 0.0, 0.0)
    return [Sample("t", system, f"i{i}", "s", "p", {}, {"m": value}, *common) for i, value in enumerate(values)]


def value_of(
    metric: Metric, own: list[float], none: list[float], text: list[float], page: list[float] | None = None
) -> float | None:
    controls = {"none": rows("none", none), "text": rows("text", text), "page": rows("page", page or [])}
    found = estimates({"x": metric}, rows("own", own), controls)
    return found["x"].value if found else None


def test_recovery_of_a_loss() -> None:
    none, text = [10.0, 30.0], [2.0, 8.0]
    assert value_of(recovery("m"), [4.0, 20.0], none, text) == pytest.approx((40 - 24) / (40 - 10))
    assert value_of(recovery("m"), none, none, text) == 0 and value_of(recovery("m"), text, none, text) == 1
    assert value_of(recovery("m"), [20.0, 30.0], none, text) == pytest.approx(-10 / 30), "worse than nothing"
    assert value_of(recovery("m"), [1.0, 1.0], [1.0, 0.0], [1.0, 4.0]) is None, "the text gains nothing"


def test_recovery_is_a_ratio_of_sums_and_not_a_mean_of_ratios() -> None:
    none, text, own = [10.0, 100.0], [0.0, 0.0], [0.0, 100.0]
    assert value_of(recovery("m"), own, none, text) == pytest.approx(10 / 110) != np.mean([1.0, 0.0])


def test_where_the_text_gains_nothing_there_is_no_metric() -> None:
    assert value_of(recovery("m"), [1.0], [2.0], [2.0]) is None
    assert value_of(relative("m"), [1.0], [0.0], [0.0]) is None


def test_relative_and_mean() -> None:
    assert value_of(relative("m"), [1.0, 0.0], [0.0, 0.0], [1.0, 3.0]) == pytest.approx(1 / 4)
    assert value_of(mean("m"), [1.0, 0.0], [0.0, 0.0], [1.0, 3.0]) == 0.5


def test_beyond_the_window_only_the_page_is_left_to_compare_with() -> None:
    own, page = [1.0, 0.0, 1.0], [1.0, 3.0, 1.0]
    assert value_of(relative("m", "page"), own, [0.0] * 3, [], page) == pytest.approx(2 / 5)
    assert value_of(relative("m"), own, [0.0] * 3, [], page) is None
    assert value_of(relative("m", "page"), own, [0.0] * 3, [2.0, 2.0, 2.0]) is None, "a run that took no page along"


def test_a_document_that_a_control_refused_counts_for_no_one() -> None:
    text = rows("text", [1.0])
    controls = {"none": rows("none", [5.0, 5.0]), "text": text}
    found = estimates({"x": recovery("m")}, rows("own", [3.0, 500.0]), controls)
    assert found["x"].value == pytest.approx((5 - 3) / (5 - 1))
