"""How much of what a document does for the text after it does its compressed form do?

Context recovery = (NLL none - NLL) / (NLL none - NLL full), sums over stretches: 0 is no context, 1 all of it. It can
be below 0, where what is read harms, and above 1.
"""

from __future__ import annotations

import numpy as np

RESAMPLES = 1000
LEVEL = 0.95
ENOUGH = 5
"""Stretches below which an interval by resampling would look narrower than it is."""


def context_recovery(none: np.ndarray, own: np.ndarray, full: np.ndarray) -> float | None:
    """Recovery over stretches, from sums of the negative log-likelihood in nats, float [stretches] each.

    None where the document does not help: there is nothing to recover.
    """
    gain = float(none.sum() - full.sum())
    return float(none.sum() - own.sum()) / gain if gain > 0 else None


def recovery_interval(
    none: np.ndarray, own: np.ndarray, full: np.ndarray, seed: int = 0
) -> tuple[float, float] | tuple[None, None]:
    """95 % percentile interval of the bootstrap over stretches (Efron 1979), all three drawn together.

    None for fewer than `ENOUGH` stretches, and where a document helps in no resample.
    """
    count = len(none)
    if count < ENOUGH:
        return None, None
    draws = np.random.default_rng(seed).integers(0, count, (RESAMPLES, count))
    lost, gain = ((none - other)[draws].sum(1) for other in (own, full))  # [resamples]
    found = lost[gain > 0] / gain[gain > 0]
    if not len(found):
        return None, None
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(found, [tail, 1 - tail])
    return float(low), float(high)
