"""Far facts: something said at the beginning is needed at the end, where recency misleads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from eval.bootstrap import Metric
from eval.schema import Item, Outcome, Probe
from eval.tasks.base import Task
from eval.tasks.far_fact import documents, score
from eval.tasks.far_fact.facts import KINDS
from eval.tasks.filler import check_domains
from eval.tasks.relative import PAGE_CONTROLS
from eval.tasks.split import check_split
from vtc.records.errors import UsageError
from vtc.records.suggest import unknown


@dataclass
class FarFact(Task):
    """Texts with one early fact each; the right value is compared with three others, two of them read last."""

    name: ClassVar[str] = "far_fact"
    about: ClassVar[str] = "a fact stated early is used late, after the same was said about others"
    controls: ClassVar[tuple[str, ...]] = PAGE_CONTROLS
    metrics: ClassVar[Mapping[str, Metric]] = score.METRICS
    groups: ClassVar[tuple[str, ...]] = ("kind",)

    n: int = 30
    """Documents."""
    tokens: int = 1000
    """Length of each."""
    kinds: tuple[str, ...] = KINDS
    """Of facts: name, number, place."""
    filler: str = "manual"
    """What stands between, see `eval.tasks.filler`."""
    split: str = "all"
    """Texts of one side: dev or test, see `eval.tasks.split`."""
    llm: str = "smollm2-135m"
    """Whose tokenizer counts the tokens."""

    def __post_init__(self) -> None:
        check_domains([self.filler])
        check_split(self.split)
        for name, least in (("n", 1), ("tokens", 500)):
            if getattr(self, name) < least:
                raise UsageError(f"{name}={getattr(self, name)}: must be at least {least}")
        if not self.kinds:
            raise UsageError(f"kinds: is empty; choose from {', '.join(KINDS)}")
        for kind in self.kinds:
            if kind not in KINDS:
                raise UsageError(unknown("kind", kind, list(KINDS)))

    def items(self) -> Iterator[Item]:
        """One document after another; kinds and forms of facts take turns."""
        return documents.items(self)

    def score(self, item: Item, probe: Probe, outcome: Outcome) -> dict[str, float]:
        """`correct`, `nll` in nats of the right value and `tokens` that it is of."""
        return score.score(outcome)
