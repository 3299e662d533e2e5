"""Measures of one restored page, and the metrics made of their sums; all from `vtc.metrics`, so that a value here is
the value of `vtc.metrics.fidelity` on the same pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from eval.bootstrap import Metric, Totals
from vtc.metrics import (
    Recall,
    alphabetic_word_recall,
    char_accuracy,
    char_accuracy_normalised,
    digit_word_recall,
    fox_set_precision,
    identifier_recall,
)

REPEATS = 3
"""How often a line must stand on a page to count as repeated."""


def measures(reference: str, output: str) -> dict[str, float]:
    """What one page reached.

    Args:
        reference: the true text, and
        output: the restored one; both with bytes that are no UTF-8 as lone surrogates (`surrogateescape`).

    Returns:
        Fractions from 0 to 1, `exact` and `exact_normalised` as 0 or 1, and the counts `*_found` of `*_total`.
    """
    normalised = char_accuracy_normalised(reference, output)
    found: dict[str, float] = {
        "char_accuracy": char_accuracy(reference, output),
        "char_accuracy_normalised": normalised,
        "exact": float(reference == output),
        "exact_normalised": float(normalised == 1.0),
        "fox_set_precision": fox_set_precision(reference, output),
    }
    recalls: dict[str, Callable[[str, str], Recall]] = {
        "digit": digit_word_recall,
        "identifier": identifier_recall,
        "alphabetic": alphabetic_word_recall,
        "repeat": repeated_lines,
    }
    for name, recall in recalls.items():
        count = recall(reference, output)
        found[f"{name}_found"], found[f"{name}_total"] = float(count.found), float(count.total)
    return found


def repeated_lines(reference: str, output: str) -> Recall:
    """Lines that stand at least `REPEATS` times in the reference: how many of them, each counted once, stand exactly as
    often in the output. A loop restores one too often, a lost repeat too seldom; lines of whitespace do not count.
    """
    wanted = {
        line: times for line, times in Counter(reference.split("\n")).items() if times >= REPEATS and line.strip()
    }
    given = Counter(output.split("\n"))
    return Recall(sum(given[line] == times for line, times in wanted.items()), len(wanted))


def _mean(measure: str) -> Metric:
    return Metric(lambda own, controls: own.mean(measure))


def _share(kind: str) -> Metric:
    """Recall over all pages together, so that long pages weigh more."""
    return Metric(lambda own, controls: own.share(f"{kind}_found", f"{kind}_total"))


def _quantile(measure: str, q: float) -> Metric:
    def quantile(own: Totals, controls: object) -> np.ndarray:
        return own.quantile(measure, q)

    return Metric(quantile)


METRICS: dict[str, Metric] = {
    "char_accuracy": _mean("char_accuracy"),
    "char_accuracy_normalised": _mean("char_accuracy_normalised"),
    "char_accuracy_median": _quantile("char_accuracy", 0.5),
    "char_accuracy_p5": _quantile("char_accuracy", 0.05),
    "exact_pages": _mean("exact"),
    "exact_pages_normalised": _mean("exact_normalised"),
    "digit_word_recall": _share("digit"),
    "identifier_recall": _share("identifier"),
    "alphabetic_word_recall": _share("alphabetic"),
    "repeat_recall": _share("repeat"),
    "fox_set_precision": _mean("fox_set_precision"),
}
"""Shares from 0 to 1, higher is better."""
