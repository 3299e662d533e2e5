"""Two pages: questions that no single page of a document answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from eval.bootstrap import Metric
from eval.schema import Item, Outcome, Probe
from eval.tasks.base import Task
from eval.tasks.filler import check_domains
from eval.tasks.relative import PAGE_CONTROLS
from eval.tasks.split import check_split
from eval.tasks.two_pages import documents, score
from eval.tasks.two_pages.kinds import KINDS
from vtc.records.errors import UsageError
from vtc.records.suggest import unknown


@dataclass
class TwoPages(Task):
    """Texts with two pairs of facts, each fact far from the other of its pair; a question needs both of one."""

    name: ClassVar[str] = "two_pages"
    about: ClassVar[str] = "questions that need two facts from different pages: two codes of one owner, or a chain"
    controls: ClassVar[tuple[str, ...]] = PAGE_CONTROLS
    metrics: ClassVar[Mapping[str, Metric]] = score.METRICS
    groups: ClassVar[tuple[str, ...]] = ("kind", "length")

    lengths: tuple[int, ...] = (2000,)
    """Lengths of the documents, tokens."""
    kinds: tuple[str, ...] = tuple(KINDS)
    """Of questions: both, chain."""
    n: int = 4
    """Documents for each length and kind; each is asked two questions."""
    filler: str = "manual"
    """What stands between, see `eval.tasks.filler`."""
    split: str = "all"
    """Texts of one side: dev or test, see `eval.tasks.split`."""
    llm: str = "smollm2-135m"
    """Whose tokenizer counts the tokens."""

    def __post_init__(self) -> None:
        check_domains([self.filler])
        check_split(self.split)
        for name in ("lengths", "kinds"):
            values = getattr(self, name)
            if not values or len(set(values)) != len(values):
                raise UsageError(f"{name}={list(values)}: give at least one, none twice")
        for kind in self.kinds:
            if kind not in KINDS:
                raise UsageError(unknown("kind", kind, list(KINDS)))
        if min(self.lengths) < 500:
            raise UsageError(f"lengths={list(self.lengths)}: must be at least 500")
        if self.n < 1:
            raise UsageError(f"n={self.n}: must be at least 1")

    def items(self) -> Iterator[Item]:
        """Short documents first; each is made when it is asked for."""
        return documents.items(self)

    def score(self, item: Item, probe: Probe, outcome: Outcome) -> dict[str, float]:
        """`correct` where the answer holds all that was asked for and nothing of the other pair; `part`, `misled`."""
        return score.score(probe, outcome.text)
