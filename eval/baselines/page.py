"""The bare page: what stands around the answer, read as plain text. What no reader of long documents can be expected to
beat with the same model: nothing had to be found, and nothing was compressed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from eval.baselines.tokens import count_tokens
from eval.schema import Item, Outcome, Probe, Result
from eval.systems.base import System
from eval.systems.reader import ReaderSystem
from vtc.llm.vocabulary import Vocabulary
from vtc.records.errors import UsageError

TOKENS = 640
"""A page of the long documents that were looked at while readers of them were built."""

BYTES_PER_TOKEN = 16
"""Far more than text has, so that so many bytes surely hold the tokens that are asked for."""

Span = tuple[int, int]
"""Start and stop, bytes."""


@dataclass
class Page(System):
    """For each probe the surroundings of its evidence, `tokens` in all, in the order of the document."""

    tokens: int = field(init=False)
    _reader: ReaderSystem = field(init=False)

    def __post_init__(self) -> None:
        self.tokens = self.options.get("tokens", TOKENS)
        if set(self.options) - {"tokens"} or type(self.tokens) is not int or self.tokens < 1:
            raise UsageError(f"{self.name}: takes one option, tokens, of at least 1; write {self.name}:tokens={TOKENS}")
        self._reader = ReaderSystem(self.bench, "text")

    def run(self, item: Item) -> Result:
        """Read each page once for all probes whose answer stands there."""
        words = self.bench.vocabulary
        count = count_tokens(item.text, words)
        if not all(probe.evidence for probe in item.probes):
            return Result(refused="the task does not say where its answers stand", text_tokens=count)
        by_evidence: dict[tuple[Span, ...], list[Probe]] = {}
        for probe in item.probes:
            by_evidence.setdefault(tuple(sorted(probe.evidence)), []).append(probe)
        outcomes: dict[str, Outcome] = {}
        seconds = 0.0
        for evidence, probes in by_evidence.items():
            page = b"\n\n".join(item.text[a:b].strip() for a, b in around(item.text, evidence, self.tokens, words))
            found = self._reader.run(replace(item, text=page, probes=tuple(probes)))
            if found.refused:
                return Result(refused=found.refused, text_tokens=count)
            outcomes |= {probe.name: outcome for probe, outcome in zip(probes, found.outcomes, strict=True)}
            seconds += found.prepare_seconds
        return Result([outcomes[probe.name] for probe in item.probes], "", count, prepare_seconds=seconds)


def around(text: bytes, evidence: Sequence[Span], tokens: int, words: Vocabulary) -> list[Span]:
    """Spans of whole words around the evidence, about `tokens` in all, as many for each; those that meet are one.

    Args:
        evidence: spans in order.
    """
    found: list[Span] = []
    for start, stop in evidence:
        room = max(0, tokens // len(evidence) - len(words.encode(text[start:stop].decode(errors="ignore"))))
        reach = room * BYTES_PER_TOKEN
        before, after = (
            words.sizes[words.encode(part.decode(errors="ignore"))]
            for part in (text[max(0, start - reach) : start], text[stop : stop + reach])
        )
        left = min(len(before), max(room // 2, room - len(after)))  # at an end of the text the other side has more
        first = start - int(before[len(before) - left :].sum())
        last = stop + int(after[: room - left].sum())
        if first > 0 and not text[first - 1 : first].isspace():
            first = min(start, first + len(re.match(rb"\S*", text[first:start])[0]))  # type: ignore[index]
        if last < len(text) and not text[last : last + 1].isspace():
            last = max(stop, last - len(re.search(rb"\S*\Z", text[stop:last])[0]))  # type: ignore[index]
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return found
