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
from eval.tasks.needle.wordings import WORDINGS
from eval.tasks.people import ROLES
from eval.tasks.relative import PAGE_CONTROLS
from eval.tasks.split import check_split
from vtc.records.errors import UsageError
from vtc.records.suggest import unknown

LENGTHS = (500, 1000, 2000, 4000, 8000, 16000, 32000, 110_000, 262_000)
"""The whole grid, tokens."""
DEPTHS = (0.1, 0.3, 0.5, 0.7, 0.9)
MOST_ROLES = 20
"""Owners in one document; fillers mention a few of all."""


@dataclass
class Needle(Task):
    """A grid of lengths, depths and kinds of values; an item is one document with one or several needles."""

    name: ClassVar[str] = "needle"
    about: ClassVar[str] = "retrieval: 5-digit codes, UUIDs and names in texts of 500 to 262,000 tokens"
    controls: ClassVar[tuple[str, ...]] = PAGE_CONTROLS
    metrics: ClassVar[Mapping[str, Metric]] = score.METRICS
    groups: ClassVar[tuple[str, ...]] = ("kind", "length", "depth", "needles", "wording")

    lengths: tuple[int, ...] = LENGTHS[:3]
    """Lengths of the documents, tokens; `LENGTHS` is the whole grid."""
    depths: tuple[float, ...] = DEPTHS
    """Where the needle stands: 0 is the beginning, 1 the end."""
    kinds: tuple[str, ...] = tuple(KINDS)
    """Of values: digits, uuid, name."""
    needles: int | tuple[int, ...] = 1
    """In each document, at different depths of `depths`, each asked for by itself; several numbers: of each."""
    wordings: tuple[str, ...] = WORDINGS[:1]
    """Of the questions: plain, paraphrased (in words that the needle does not share); each is put to every needle."""
    lookalikes: int = 0
    """Sentences of the same form for each needle, about similar owners or with similar values."""
    n: int = 1
    """Documents for each length, depth and kind."""
    sample: tuple[int, ...] = ()
    """As many documents of each length, from all over its grid; empty takes all of it."""
    filler: str = "manual"
    """What the needle is hidden in, see `eval.tasks.filler`."""
    split: str = "all"
    """Texts of one side: dev or test, see `eval.tasks.split`."""
    llm: str = "smollm2-135m"
    """Whose tokenizer counts the tokens."""

    def __post_init__(self) -> None:
        check_domains([self.filler])
        check_split(self.split)
        for name in ("lengths", "depths", "kinds", "counts", "wordings"):
            values = getattr(self, name)
            if not values or len(set(values)) != len(values):
                raise UsageError(f"{name.replace('counts', 'needles')}={list(values)}: give at least one, none twice")
        for name, known in (("kind", list(KINDS)), ("wording", list(WORDINGS))):
            for value in getattr(self, f"{name}s"):
                if value not in known:
                    raise UsageError(unknown(name, value, known))
        if not all(0 <= depth <= 1 for depth in self.depths):
            raise UsageError(f"depths={list(self.depths)}: must be from 0, the beginning, to 1, the end")
        most = min(len(self.depths), len(ROLES) // 2)
        if not 1 <= min(self.counts) <= max(self.counts) <= most:
            raise UsageError(f"needles={self.needles}: must be 1 to {most}; each stands at a depth of its own")
        sentences = max(self.counts) * (1 + self.lookalikes)
        if self.lookalikes < 0 or (self.lookalikes and sentences > MOST_ROLES):
            most = MOST_ROLES // max(self.counts) - 1
            raise UsageError(f"lookalikes={self.lookalikes}: must be 0 to {most} with needles={self.needles}")
        if min(self.lengths) < 100 * sentences:
            raise UsageError(
                f"lengths={list(self.lengths)}: give at least 100 tokens for each needle and each look-alike"
            )
        if self.sample and (len(self.sample) != len(self.lengths) or min(self.sample) < 1):
            raise UsageError(f"sample={list(self.sample)}: give a number of at least 1 for each of lengths")
        if self.n < 1:
            raise UsageError(f"n={self.n}: must be at least 1")

    @property
    def counts(self) -> tuple[int, ...]:
        """Needles of a document, each number of them."""
        return (self.needles,) if isinstance(self.needles, int) else self.needles

    def items(self) -> Iterator[Item]:
        """The grid, short documents first."""
        return documents.items(self)

    def score(self, item: Item, probe: Probe, outcome: Outcome) -> dict[str, float]:
        """`correct`: 1 where the answer holds the value and none of a look-alike; `misled`: where only those."""
        edge = KINDS[str(probe.tags["kind"])].edge
        return score.score(probe, outcome.text, edge)
