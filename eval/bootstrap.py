"""Intervals of metrics by the bootstrap over documents (Efron 1979; percentile intervals).

Probes of one document are not independent, so whole documents are drawn again. A metric is a function of sums over
documents, which makes every resample one matrix product. A system and its controls are resampled together, so that an
interval of a relative metric holds what they share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eval.schema import Estimate, Sample

RESAMPLES = 1000
LEVEL = 0.95


@dataclass(frozen=True)
class Totals:
    """Measures of one system, summed over the documents of every resample."""

    values: Mapping[str, np.ndarray]
    """By measure its sum in each document, float64 [documents]; nan where a document has none."""
    draws: np.ndarray
    """int [resamples, documents]: indices of the documents that a resample holds."""

    def sum(self, name: str) -> np.ndarray:
        """Sum of a measure in every resample, float64 [resamples]; documents without it count nothing."""
        found = self.values.get(name)
        if found is None:
            return np.full(len(self.draws), np.nan)
        return np.nan_to_num(found)[self.draws].sum(1)

    def quantile(self, name: str, q: float) -> np.ndarray:
        """Quantile (linear between neighbours) over documents of a measure's mean, float64 [resamples]."""
        means = self.values[name] / self.values["count"]
        return np.quantile(means[self.draws], q, axis=1)

    def mean(self, name: str) -> np.ndarray:
        """Mean over probes."""
        return _divide(self.sum(name), self.sum("count"))

    def share(self, part: str, whole: str) -> np.ndarray:
        """Sum of one measure over that of another; nan where there is nothing to count."""
        return _divide(self.sum(part), self.sum(whole))


Function = Callable[[Totals, Mapping[str, Totals]], np.ndarray]
"""From a system's totals, and those of the controls by name, to a value for every resample."""


@dataclass(frozen=True)
class Metric:
    """How a number of the tables is made."""

    function: Function
    higher_is_better: bool = True
    against: tuple[str, ...] = ()
    """Controls that the function looks at; it then counts only the documents that they served too."""


def estimates(
    metrics: Mapping[str, Metric],
    samples: Sequence[Sample],
    controls: Mapping[str, Sequence[Sample]],
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> dict[str, Estimate]:
    """Every metric of one system with its interval, over the documents that it and all controls served.

    Args:
        samples: of one system.
        controls: samples of the controls by system name; documents are matched by item.
        seed: of the resampling; one seed gives the same intervals every time.
    """
    tables = {name: by_document(rows) for name, rows in controls.items()}
    own = by_document(samples)
    found = {}
    for name, metric in metrics.items():
        theirs = [tables[control] for control in metric.against]
        shared = [item for item in own if all(item in table for table in theirs)]
        if not shared:
            continue
        draws = np.random.default_rng(seed).integers(0, len(shared), (resamples, len(shared)))
        draws = np.vstack([np.arange(len(shared)), draws])  # the first "resample" is the sample itself
        against = {control: totals(tables[control], shared, draws) for control in metric.against}
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.asarray(metric.function(totals(own, shared, draws), against), np.float64)
        if not np.isfinite(values[0]):
            continue
        tail = (1 - LEVEL) / 2
        drawn = values[1:][np.isfinite(values[1:])]  # a resample may hold nothing to divide by
        low, high = np.quantile(drawn if len(drawn) else values[:1], [tail, 1 - tail])
        found[name] = Estimate(float(values[0]), float(low), float(high), metric.higher_is_better)
    return found


def totals(table: Mapping[str, Mapping[str, float]], items: Sequence[str], draws: np.ndarray) -> Totals:
    """Sums of one system over the documents `items` for all resamples."""
    names = {name for item in items for name in table[item]}
    columns = {name: np.array([table[item].get(name, np.nan) for item in items], np.float64) for name in names}
    return Totals(columns, draws)


def by_document(samples: Sequence[Sample]) -> dict[str, dict[str, float]]:
    """Sums of all measures of each document that was served, and `count`, its probes."""
    found: dict[str, dict[str, float]] = {}
    for sample in samples:
        if sample.refused:
            continue
        sums = found.setdefault(sample.item, {"count": 0.0})
        sums["count"] += 1
        for name, value in sample.measures.items():
            sums[name] = sums.get(name, 0.0) + value
    return found


def _divide(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > 0, part / whole, np.nan)
