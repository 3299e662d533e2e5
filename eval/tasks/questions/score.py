"""Measures and metrics of multiple choice."""

from __future__ import annotations

from collections.abc import Sequence

from eval.schema import Outcome, Probe
from eval.tasks.relative import mean, recovery


def score(probe: Probe, outcome: Outcome) -> dict[str, float]:
    """Whether the right option has the lowest loss: `correct` by UTF-8 byte, `correct_sum` in all. `nll` is that loss.

    Options differ in length, and every token more costs something; a loss per byte depends on no tokenizer.
    """
    sums = [sum(losses) for losses in outcome.nll]
    sizes = [len(choice.encode()) for choice in probe.choices]
    per_byte = [loss / size for loss, size in zip(sums, sizes, strict=True)]
    return {"correct": float(first_is_lowest(per_byte)), "correct_sum": float(first_is_lowest(sums)), "nll": sums[0]}


def first_is_lowest(values: Sequence[float]) -> bool:
    """Whether the first is lower than all others; a tie is no choice."""
    return values[0] < min(values[1:])


METRICS = {
    "accuracy": mean("correct"),
    "accuracy_sum": mean("correct_sum"),
    "answer_recovery": recovery("nll"),
}
