"""Measures and metrics of continuations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from eval.bootstrap import Metric, Totals
from eval.schema import Outcome
from eval.tasks.relative import recovery


def score(outcome: Outcome) -> dict[str, float]:
    """Sum of the negative log-likelihood of the continuation, nats, and its length in tokens."""
    losses = outcome.nll[0]
    return {"nll": sum(losses), "tokens": float(len(losses))}


def perplexity(own: Totals, controls: Mapping[str, Totals]) -> np.ndarray:
    """exp of the mean loss of a token, over all documents together."""
    return np.exp(own.share("nll", "tokens"))


METRICS = {
    "context_recovery": recovery("nll"),
    "perplexity": Metric(perplexity, higher_is_better=False),
}
