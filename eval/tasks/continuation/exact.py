"""Stretches of given lengths: a text that holds a whole one is cut by itself, those too short are joined.

Stretches of one length do not overlap. Those of different lengths may share some of the text before, but what they hold
out they never share, so that nothing is scored twice.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eval.tasks.filler import BREAK, cut, documents
from vtc.llm.vocabulary import Vocabulary
from vtc.records.errors import UsageError

if TYPE_CHECKING:
    from eval.tasks.continuation import Continuation

OWN = 256
"""Tokens of its own text that stand before a continuation at least, so that none belongs to the text before."""

SLACK = 64
"""Tokens before a continuation where it may begin after all: it begins with a word, and code has stretches without."""

Span = tuple[int, int, int]
"""Index of a text, and its first and last token (not included)."""


@dataclass(frozen=True)
class Text:
    """A text of a domain with its ids, int32 [n]."""

    name: str
    text: str
    ids: np.ndarray

    def part(self, first: int, last: int, words: Vocabulary) -> str:
        """Its whole words between two tokens."""
        start, stop = (len(words.decode(self.ids[:place]).decode(errors="ignore")) for place in (first, last))
        return cut(self.text, start, stop - start)


def stretches(task: Continuation, domain: str, words: Vocabulary) -> Iterator[tuple[int, str, str]]:
    """Length (tokens), name and text of each stretch of a domain: a document of about that length and its continuation.

    Raises:
        UsageError: the domain has none of one of the lengths.
    """
    draw = random.Random(f"{task.seed}:{domain}:lengths")
    held_out = task.next_tokens + 1
    named = list(documents(domain, task.data, draw, task.split))
    ids = words.encode_batch([text for _, text in named])
    texts = [Text(name, text, found) for (name, text), found in zip(named, ids, strict=True)]
    chosen: dict[int, list[list[Span]]] = {}
    taken: list[Span] = []
    counts = {length: n for (own, length), n in task.counts.items() if own == domain}
    for length in sorted(counts, reverse=True):  # the longest have the least choice
        every = candidates([len(text.ids) for text in texts], length + held_out, held_out)
        drawn = (spans for spans in draw.sample(every, len(every)) if can_break(texts, spans, held_out, words))
        chosen[length] = free(drawn, counts[length], held_out, taken)
        if not chosen[length]:
            side = "" if task.split == "all" else f" of its side {task.split}"
            raise UsageError(f"lengths: the domain {domain} has no stretch of {length} tokens{side}; leave it out")
    for length in counts:
        for spans in chosen[length]:
            parts = [texts[number].part(first, last, words) for number, first, last in spans]
            number, _, last = spans[-1]
            yield length, f"{texts[number].name}-{last}", "\n\n".join(filter(None, parts))


def candidates(sizes: Sequence[int], size: int, held_out: int) -> list[list[Span]]:
    """Disjoint stretches of `size` tokens; each is one span, or several whose last holds `OWN + held_out` tokens.

    Args:
        sizes: of the texts, tokens.
        held_out: tokens of a continuation.
    """
    found: list[list[Span]] = []
    short: list[Span] = []
    for number, count in enumerate(sizes):
        if count >= size:
            found += [[(number, first, first + size)] for first in range(0, count - size + 1, size)]
            continue
        before = sum(last - first + 1 for _, first, last in short)  # with what separates them
        if before + count < size or count < OWN + held_out:
            short.append((number, 0, count))
            continue
        stop = max(size - before, OWN + held_out)
        found.append(tail([*short, (number, 0, stop)], size))
        short = [(number, stop, count)] if stop < count else []
    return found


def tail(spans: list[Span], size: int) -> list[Span]:
    """The last `size` tokens of spans, one counted for what separates two."""
    kept: list[Span] = []
    for number, first, last in reversed(spans):
        if size <= 0:
            break
        kept.insert(0, (number, max(first, last - size), last))
        size -= last - kept[0][1] + 1
    return kept


def can_break(texts: Sequence[Text], spans: list[Span], held_out: int, words: Vocabulary) -> bool:
    """Whether a continuation can begin with a word within `SLACK` tokens; tables have no such place."""
    number, _, last = spans[-1]
    return BREAK.search(texts[number].part(last - held_out - SLACK, last - held_out, words)) is not None


def free(drawn: Iterable[list[Span]], count: int, held_out: int, taken: list[Span]) -> list[list[Span]]:
    """The first `count` stretches whose continuation shares no token with those `taken`, which grow."""
    found: list[list[Span]] = []
    for spans in drawn:
        number, _, last = spans[-1]
        first = last - held_out - SLACK
        if not any(n == number and first < b and a < last for n, a, b in taken):
            taken.append((number, first, last))
            found.append(spans)
        if len(found) == count:
            break
    return found
