"""Measures and metrics of questions that need two pages."""

from __future__ import annotations

from dataclasses import replace

from eval.schema import Probe
from eval.tasks.needle.score import holds
from eval.tasks.relative import mean, relative
from eval.tasks.two_pages.documents import AND

EDGE = r"\d"
"""All values are numbers."""


def score(probe: Probe, text: str) -> dict[str, float]:
    """`correct`: all values of the answer and none of the other pair's; `part`: the share of the values, whatever else;
    `misled`: values of the other pair alone."""
    right = [holds(text, value, EDGE) for value in probe.answer.split(AND)]
    wrong = any(holds(text, value, EDGE) for value in probe.wrong)
    return {
        "correct": float(all(right) and not wrong),
        "part": sum(right) / len(right),
        "misled": float(wrong and not any(right)),
    }


METRICS = {
    "accuracy": mean("correct"),
    "relative_accuracy": relative("correct"),
    "page_accuracy": relative("correct", "page"),
    "part": mean("part"),
    "misled": replace(mean("misled"), higher_is_better=False),
}
