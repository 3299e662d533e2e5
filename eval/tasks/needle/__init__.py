"""Needles: a sentence with a made value stands somewhere in a long text, and is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from eval.bootstrap import Metric
from eval.schema import Item, Outcome, Probe
from eval.tasks.base import Task
from eval.tasks.filler import check_domains
from eval.tasks.needle import documents, score
from eval.tasks.needle.kinds import KINDS
from eval.tasks.people import ROLES
from eval.tasks.relative import CONTROLS
from vtc.records.errors import UsageError
from vtc.records.suggest import unknown

LENGTHS = (500, 1000, 2000, 4000, 8000, 16000, 32000)
"""The whole grid, tokens."""
DEPTHS = (0.1, 0.3, 0.5, 0.7, 0.9)


@dataclass
class Needle(Task):
    """A grid of lengths, depths and kinds of values; an item is one document with one or several needles."""

    name: ClassVar[str] = "needle"
    about: ClassVar[str] = "retrieval: 5-digit codes, UUIDs and names in texts of 500 to 32,000 tokens"
    controls: ClassVar[tuple[str, ...]] = CONTROLS
    metrics: ClassVar[Mapping[str, Metric]] = score.METRICS
    groups: ClassVar[tuple[str, ...]] = ("kind", "length", "depth")

    lengths: tuple[int, ...] = LENGTHS[:3]
    """Lengths of the documents, tokens; `LENGTHS` is the whole grid."""
    depths: tuple[float, ...] = DEPTHS
    """Where the needle stands: 0 is the beginning, 1 the end."""
    kinds: tuple[str, ...] = tuple(KINDS)
    """Of values: digits, uuid, name."""
    needles: int = 1
    """In each document, at different depths of `depths`, each asked for by itself."""
    n: int = 1
    """Documents for each length, depth and kind."""
    filler: str = "manual"
    """What the needle is hidden in, see `eval.tasks.filler`."""
    llm: str = "smollm2-135m"
    """Whose tokenizer counts the tokens."""

    def __post_init__(self) -> None:
        check_domains([self.filler])
        for name in ("lengths", "depths", "kinds"):
            values = getattr(self, name)
            if not values or len(set(values)) != len(values):
                raise UsageError(f"{name}={list(values)}: give at least one, none twice")
        for kind in self.kinds:
            if kind not in KINDS:
                raise UsageError(unknown("kind", kind, list(KINDS)))
        if not all(0 <= depth <= 1 for depth in self.depths):
            raise UsageError(f"depths={list(self.depths)}: must be from 0, the beginning, to 1, the end")
        most = min(len(self.depths), len(ROLES) // 2)
        if not 1 <= self.needles <= most:
            raise UsageError(f"needles={self.needles}: must be 1 to {most}; each stands at a depth of its own")
        if min(self.lengths) < 100 * self.needles:
            raise UsageError(f"lengths={list(self.lengths)}: give at least 100 tokens for each needle")
        if self.n < 1:
            raise UsageError(f"n={self.n}: must be at least 1")

    def items(self) -> Iterator[Item]:
        """The grid, short documents first."""
        return documents.items(self)

    def score(self, item: Item, probe: Probe, outcome: Outcome) -> dict[str, float]:
        """`correct`: 1 where the answer holds the value."""
        edge = KINDS[str(probe.tags["kind"])].edge
        return {"correct": float(score.holds(outcome.text, probe.answer, edge))}
