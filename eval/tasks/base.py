"""What a task is: a stream of documents with probes, a scorer of one outcome, and metrics of what the scorer found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from eval.bootstrap import Metric
from eval.schema import Item, Outcome, Probe


@dataclass
class Task(ABC):
    """One dataclass, one folder, found by name in `eval.registry.TASKS`. Its fields are the settings of a run."""

    name: ClassVar[str]
    about: ClassVar[str]
    """One line for `--help`."""
    controls: ClassVar[tuple[str, ...]] = ()
    """Systems that every run of this task takes along, since its metrics are relative to them."""
    metrics: ClassVar[Mapping[str, Metric]]
    """In the order of the table; the first is the headline."""
    groups: ClassVar[tuple[str, ...]] = ()
    """Tags by which the table is also split."""

    seed: int = 0
    data: str | None = None
    """Folder of the evaluation texts, else `VTC_DATA`, else beside the clone."""

    @abstractmethod
    def items(self) -> Iterator[Item]:
        """Documents one after another, the same for the same settings; none is held after it was given.

        Raises:
            VtcError: the data is missing; with where it comes from.
        """

    @abstractmethod
    def score(self, item: Item, probe: Probe, outcome: Outcome) -> dict[str, float]:
        """Measures of one outcome; each is summed over the probes of a document. Higher need not be better."""
