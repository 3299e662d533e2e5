"""Held-out continuations: how much of what a document does for the text after it does its compressed form do?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from eval.bootstrap import Metric
from eval.schema import Item, Outcome, Probe
from eval.tasks.base import Task
from eval.tasks.continuation import documents, score
from eval.tasks.filler import DOMAINS, check_domains
from eval.tasks.relative import CONTROLS
from vtc.records.errors import UsageError


@dataclass
class Continuation(Task):
    """Documents of several domains and the text that follows each."""

    name: ClassVar[str] = "continuation"
    about: ClassVar[str] = "context recovery: likelihood of the held-out text that follows a document"
    controls: ClassVar[tuple[str, ...]] = CONTROLS
    metrics: ClassVar[Mapping[str, Metric]] = score.METRICS

    n: int = 8
    """Documents of each domain."""
    tokens: int = 1000
    """Length of a document; shorter where a page is."""
    next_tokens: int = 64
    """Length of what is held out, at least."""
    domains: tuple[str, ...] = tuple(DOMAINS)
    """What the documents are cut from, see `eval.tasks.filler`."""
    llm: str = "smollm2-135m"
    """Whose tokenizer counts the tokens."""

    def __post_init__(self) -> None:
        for name, least in (("n", 1), ("tokens", 16), ("next_tokens", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"{name}={getattr(self, name)}: must be at least {least}")
        check_domains(self.domains)

    def items(self) -> Iterator[Item]:
        """Domain after domain; less than `n` where a domain has no more disjoint stretches of this length."""
        return documents.items(self)

    def score(self, item: Item, probe: Probe, outcome: Outcome) -> dict[str, float]:
        """`nll` in nats and `tokens` that it is of."""
        return score.score(outcome)
