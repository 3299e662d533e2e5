"""Measures and metrics of needles."""

from __future__ import annotations

import re
from dataclasses import replace

from eval.schema import Probe
from eval.tasks.relative import mean, relative


def holds(text: str, value: str, edge: str) -> bool:
    """Whether a text holds a value whole, in any case and spacing.

    Args:
        edge: characters, as between a regular expression's brackets, that may not stand right before or after it: it
            would be a part of a longer value.
    """
    pattern = r"\s+".join(map(re.escape, value.split()))
    return re.search(rf"(?<![{edge}]){pattern}(?![{edge}])", text, re.IGNORECASE) is not None


def score(probe: Probe, text: str, edge: str) -> dict[str, float]:
    """`correct` where the answer holds the value and none of `probe.wrong`; `misled` where it holds only those."""
    right = holds(text, probe.answer, edge)
    wrong = any(holds(text, value, edge) for value in probe.wrong)
    found = {"correct": float(right and not wrong)}
    return {**found, "misled": float(wrong and not right)} if probe.wrong else found


METRICS = {
    "accuracy": mean("correct"),
    "relative_accuracy": relative("correct"),
    "page_accuracy": relative("correct", "page"),
    "misled": replace(mean("misled"), higher_is_better=False),
}
