"""Does the text come back? Pages of ten kinds are restored and compared, character by character and word by word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar

from eval.bootstrap import Metric
from eval.schema import Item, Outcome, Probe
from eval.tasks.base import Task
from eval.tasks.reconstruct.documents import MADE_PAGES, SETS
from eval.tasks.reconstruct.score import METRICS, measures
from vtc.records.errors import UsageError
from vtc.records.suggest import unknown

__all__ = ["Reconstruct"]


@dataclass
class Reconstruct(Task):
    """Whole pages, one probe each: the text itself."""

    name: ClassVar[str] = "reconstruct"
    about: ClassVar[str] = "restore whole pages of ten kinds of text; characters, words, digits and exact pages"
    metrics: ClassVar[Mapping[str, Metric]] = METRICS

    sets: tuple[str, ...] = tuple(SETS)
    """Which kinds of text, in this order."""
    pages: int | None = None
    """At most that many of each; by default all that there are, and 20 of those that are made."""

    def __post_init__(self) -> None:
        for name in self.sets:
            if name not in SETS:
                raise UsageError(unknown("set of task 'reconstruct'", name, SETS))
        if self.pages is not None and self.pages < 1:
            raise UsageError(f"pages={self.pages}: must be at least 1")

    def items(self) -> Iterator[Item]:
        """Pages of one set after another."""
        for name in self.sets:
            pages = SETS[name](self.seed, self.data, self.pages or MADE_PAGES)
            for page in islice(pages, self.pages):
                yield Item(f"{name}/{page.name}", name, page.text, "restore", stored=page.stored)

    def score(self, item: Item, probe: Probe, outcome: Outcome) -> dict[str, float]:
        """What `eval.tasks.reconstruct.score.measures` finds; bytes that are no UTF-8 count as one character each."""
        return measures(item.text.decode("utf-8", "surrogateescape"), outcome.text)
