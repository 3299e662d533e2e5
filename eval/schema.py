"""The one row schema: what a task hands to a system, what comes back, and the sample that is kept.

A task yields `Item`s, each one document with its probes. A system turns an item into a `Result`. The task's scorer
makes `Sample`s of both, one per probe; samples are all that metrics, tables, plots and reports are made from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

VERSION = 1
"""Raised when the meaning of a field changes."""

Mode = Literal["restore", "ask", "continue"]


@dataclass(frozen=True)
class Probe:
    """One thing that is asked of a document.

    With `choices` their likelihoods are taken, the right one first; without, an answer is generated.
    """

    name: str
    """Unique within its item."""
    prompt: str = ""
    """The question, or in mode `continue` the text that goes on after the document."""
    choices: tuple[str, ...] = ()
    answer: str = ""
    """What a right answer contains."""
    wrong: tuple[str, ...] = ()
    """What it does not contain: values of look-alikes."""
    evidence: tuple[tuple[int, int], ...] = ()
    """Where the answer stands: start and stop in bytes of the item's text, of each sentence that it takes."""
    new_tokens: int = 32
    """Longest answer."""
    tags: Mapping[str, str | int | float] = field(default_factory=dict)
    """What results are grouped by: kind, depth, length."""


@dataclass(frozen=True)
class Item:
    """One document and what is asked of it."""

    id: str
    """Unique within its task."""
    subset: str
    """What kind of text it is: "fox", "hex", "manual"."""
    text: bytes
    mode: Mode
    probes: tuple[Probe, ...] = (Probe("text"),)
    """In mode `restore` the one probe is the text itself."""
    stored: Mapping[str, str] = field(default_factory=dict)
    """Outputs that a third party published for this document, by condition."""


@dataclass(frozen=True)
class Outcome:
    """What a system made of one probe."""

    text: str = ""
    """The restored text or the generated answer."""
    nll: tuple[tuple[float, ...], ...] = ()
    """For each choice the negative log-likelihood of its tokens, nats."""
    positions: float | None = None
    """Entries that attention sees for the document, on average over layers and heads."""
    seconds: float = 0.0


@dataclass(frozen=True)
class Result:
    """What a system made of an item: an outcome for every probe, or why there is none."""

    outcomes: Sequence[Outcome] = ()
    refused: str = ""
    """Why the system can not serve this item; then there are no outcomes."""
    text_tokens: int = 0
    """Tokens of the document by the frozen LLM's tokenizer, or a peer's own."""
    latents: int | None = None
    stored_bytes: int | None = None
    """Of the document as a file, all side information counted."""
    prepare_seconds: float = 0.0
    """From the text to where the first probe can begin; for codecs the encoding."""


@dataclass(frozen=True)
class Sample:
    """One line of `samples.parquet`."""

    task: str
    system: str
    """As it was asked for, options included: "truncate:ratio=8"."""
    item: str
    subset: str
    probe: str
    tags: dict[str, str]
    measures: dict[str, float]
    """What the task's scorer found; metrics are made of sums of these."""
    reference: str
    output: str
    refused: str
    text_bytes: int
    text_tokens: int
    positions: float | None
    latents: int | None
    stored_bytes: int | None
    prepare_seconds: float
    seconds: float
    prompt: str = ""
    """What was asked."""

    def as_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return asdict(self)


@dataclass(frozen=True)
class Estimate:
    """A metric with its interval."""

    value: float
    low: float
    high: float
    higher_is_better: bool = True


@dataclass(frozen=True)
class Record:
    """One system on one subset of one task: a row of every table."""

    version: int
    task: str
    subset: str
    system: str
    model: str
    tokenizer: str
    seed: int
    documents: int
    """That the system served."""
    n: int
    """Probes on them."""
    refused: int
    """Documents it could not serve."""
    reason: str
    """Why, of the first of them."""
    position_ratio: float | None
    latent_ratio: float | None
    byte_ratio: float | None
    prepare_seconds: float
    """Mean over documents."""
    seconds: float
    """Mean over probes."""
    metrics: dict[str, Estimate]
    tags: dict[str, str] = field(default_factory=dict)
    """The group within the subset; empty for the whole of it."""
