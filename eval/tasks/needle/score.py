"""The measure and the metrics of needles."""

from __future__ import annotations

import re

from eval.tasks.relative import mean, relative


def holds(text: str, value: str, edge: str) -> bool:
    """Whether a text holds a value whole, in any case and spacing.

    Args:
        edge: characters, as between a regular expression's brackets, that may not stand right before or after it: it
            would be a part of a longer value.
    """
    pattern = r"\s+".join(map(re.escape, value.split()))
    return re.search(rf"(?<![{edge}]){pattern}(?![{edge}])", text, re.IGNORECASE) is not None


METRICS = {"accuracy": mean("correct"), "relative_accuracy": relative("correct")}
