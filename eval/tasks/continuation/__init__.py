"""Held-out continuations: how much of what a document does for the text after it does its compressed form do?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import ClassVar

from eval.bootstrap import Metric
from eval.schema import Item, Outcome, Probe
from eval.tasks.base import Task
from eval.tasks.continuation import documents, score
from eval.tasks.filler import check_domains
from eval.tasks.relative import CONTROLS
from eval.tasks.split import check_split
from vtc.records.errors import UsageError


@dataclass
class Continuation(Task):
    """Documents of several domains and the text that follows each."""

    name: ClassVar[str] = "continuation"
    about: ClassVar[str] = "context recovery: likelihood of the held-out text that follows a document"
    controls: ClassVar[tuple[str, ...]] = CONTROLS
    metrics: ClassVar[Mapping[str, Metric]] = score.METRICS

    groups: ClassVar[tuple[str, ...]] = ("length",)

    n: int | tuple[int, ...] = 8
    """Documents of each domain; with `lengths` of each length, domains taking turns, one number for all or one each."""
    tokens: int = 1000
    """Length of a document; shorter where a page is."""
    lengths: tuple[int, ...] = ()
    """Lengths that documents have instead, those of short texts joined, see `eval.tasks.continuation.exact`."""
    next_tokens: int = 64
    """Length of what is held out, at least."""
    domains: tuple[str, ...] = ("prose", "manual", "code", "fox")
    """What the documents are cut from, see `eval.tasks.filler`."""
    split: str = "all"
    """Texts of one side: dev or test, see `eval.tasks.split`."""
    llm: str = "smollm2-135m"
    """Whose tokenizer counts the tokens."""

    def __post_init__(self) -> None:
        for name, least in (("tokens", 16), ("next_tokens", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"{name}={getattr(self, name)}: must be at least {least}")
        if len(set(self.lengths)) < len(self.lengths) or min(self.lengths, default=16) < 16:
            raise UsageError(f"lengths={list(self.lengths)}: give numbers of at least 16, none twice")
        if len(self._numbers) != max(1, len(self.lengths)) or min(self._numbers) < 1:
            raise UsageError(f"n={self.n}: must be at least 1, one number or as many as lengths")
        check_domains(self.domains)
        check_split(self.split)

    @property
    def counts(self) -> dict[tuple[str, int], int]:
        """Documents by domain and length, tokens; with `lengths` all are dealt to the domains in turn."""
        if not self.lengths:
            return {(domain, self.tokens): n for domain in self.domains for n in self._numbers}
        every = [length for length, n in zip(self.lengths, self._numbers, strict=True) for _ in range(n)]
        return dict(Counter(zip(cycle(self.domains), every, strict=False)))

    @property
    def _numbers(self) -> tuple[int, ...]:
        """`n` for each length, or for the only one."""
        return (self.n,) * max(1, len(self.lengths)) if isinstance(self.n, int) else self.n

    def items(self) -> Iterator[Item]:
        """Domain after domain; less than `n` where a domain has no more disjoint stretches of this length."""
        return documents.items(self)

    def score(self, item: Item, probe: Probe, outcome: Outcome) -> dict[str, float]:
        """`nll` in nats and `tokens` that it is of."""
        return score.score(outcome)
