"""Metrics that place a system between its controls: `none` (no context), `text` (all of it, uncompressed), and `page`
(what stands around the answer, uncompressed), which is there when the text exceeds the window."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from eval.bootstrap import Metric, Totals

CONTROLS = ("none", "text")
PAGE_CONTROLS = (*CONTROLS, "page")
"""Of tasks that know where their answers stand."""


def recovery(measure: str) -> Metric:
    """(none - system) / (none - text) of a loss's sums over documents: 0 is no context, 1 is as good as all of it.

    For the negative log-likelihood of held-out text it is context recovery. There is none where the text gains nothing.
    """

    def function(own: Totals, controls: Mapping[str, Totals]) -> np.ndarray:
        none, text = controls["none"].sum(measure), controls["text"].sum(measure)
        return divide(none - own.sum(measure), none - text)

    return Metric(function, against=CONTROLS)


def relative(measure: str, to: str = "text") -> Metric:
    """A measure's sum over that of the control `to` on the same documents; there is none where that is 0."""

    def function(own: Totals, controls: Mapping[str, Totals]) -> np.ndarray:
        return divide(own.sum(measure), controls[to].sum(measure))

    return Metric(function, against=(to,))


def mean(measure: str) -> Metric:
    """Mean over probes."""
    return Metric(lambda own, _: own.mean(measure))


def divide(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """`part / whole`, float64; nan where `whole` is not positive."""
    return np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=whole > 0)
