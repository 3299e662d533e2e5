"""Questions: multiple choice about a page, by the likelihood of each option."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from eval.bootstrap import Metric
from eval.schema import Item, Outcome, Probe
from eval.tasks.base import Task
from eval.tasks.questions import documents, score
from eval.tasks.relative import CONTROLS
from eval.tasks.split import check_split
from vtc.records.errors import UsageError


@dataclass
class Questions(Task):
    """The questions of the Fox pages, three to a page."""

    name: ClassVar[str] = "questions"
    about: ClassVar[str] = "multiple-choice questions about Fox pages, by log-likelihood of the options"
    controls: ClassVar[tuple[str, ...]] = CONTROLS
    metrics: ClassVar[Mapping[str, Metric]] = score.METRICS

    n: int | None = None
    """Pages, drawn by the seed; None takes all."""
    split: str = "all"
    """Pages of one side: dev or test, see `eval.tasks.split`."""

    def __post_init__(self) -> None:
        if self.n is not None and self.n < 1:
            raise UsageError(f"n={self.n}: must be at least 1")
        check_split(self.split)

    def items(self) -> Iterator[Item]:
        """A page after another, in the order of the file."""
        return documents.items(self)

    def score(self, item: Item, probe: Probe, outcome: Outcome) -> dict[str, float]:
        """`correct` by loss per byte of an option, and `correct_sum` by its whole loss."""
        return score.score(probe, outcome)
