"""Measures and metrics of far facts."""

from __future__ import annotations

from eval.schema import Outcome
from eval.tasks.relative import mean, recovery, relative


def score(outcome: Outcome) -> dict[str, float]:
    """`correct`, whether the right choice has the lowest mean loss of a token; its loss `nll`, nats, and `tokens`."""
    means = [sum(losses) / len(losses) for losses in outcome.nll]
    right = outcome.nll[0]
    return {"correct": float(means[0] < min(means[1:])), "nll": sum(right), "tokens": float(len(right))}


METRICS = {
    "accuracy": mean("correct"),
    "relative_accuracy": relative("correct"),
    "page_accuracy": relative("correct", "page"),
    "fact_recovery": recovery("nll"),
}
