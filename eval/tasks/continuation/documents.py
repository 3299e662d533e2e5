"""Documents with what follows them, from stretches of the domains' texts that do not overlap."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from eval.schema import Item, Probe
from eval.tasks.continuation.exact import stretches
from eval.tasks.filler import BREAK, cut, digest, documents, lead
from vtc.llm.vocabulary import Vocabulary
from vtc.records.errors import UsageError

if TYPE_CHECKING:
    from eval.tasks.continuation import Continuation

CHARS_PER_TOKEN = 5
"""A little more than English prose has, so that a stretch of so many characters is about long enough."""


def items(task: Continuation) -> Iterator[Item]:
    """`task.n` items of each domain, in the order of its texts; with `task.lengths` by length."""
    words = Vocabulary.load(task.llm)
    if task.lengths:
        for domain in task.domains:
            for length, name, stretch in stretches(task, domain, words):
                yield item(f"{domain}-{name}", domain, stretch, task.next_tokens, words, {"length": length})
        return
    size = (task.tokens + task.next_tokens) * CHARS_PER_TOKEN
    for domain in task.domains:
        chosen = places(domain, size, task)
        for name, text in documents(domain, task.data, split=task.split):
            for place in chosen.get(name, []):
                stretch = lead(cut(text, place * size, size), task.tokens + task.next_tokens, words)
                yield item(f"{domain}-{name}-{place}", domain, stretch, task.next_tokens, words)


def places(domain: str, size: int, task: Continuation) -> dict[str, list[int]]:
    """By text the numbers of the stretches of `size` characters that are used; half of one is enough.

    Raises:
        UsageError: no text is long enough.
    """
    every = [
        (name, place)
        for name, text in documents(domain, task.data, split=task.split)
        for place in range((len(text) + size // 2) // size)
    ]
    if not every:
        raise UsageError(f"tokens={task.tokens}: no text of the domain {domain} is so long; lower it")
    drawn = random.Random(f"{task.seed}:{domain}").sample(every, min(task.counts[domain, task.tokens], len(every)))
    found: dict[str, list[int]] = defaultdict(list)
    for name, place in sorted(drawn):
        found[name].append(place)
    return found


def item(
    name: str,
    domain: str,
    stretch: str,
    next_tokens: int,
    words: Vocabulary,
    tags: Mapping[str, int] = MappingProxyType({}),
) -> Item:
    """A stretch split before a word, so that at least `next_tokens` and one tokens follow.

    The one more is there because systems read the first token of a continuation and do not score it.
    """
    document, held_out = split(stretch, next_tokens + 1, words)
    probe = Probe("next", choices=(held_out,), tags=tags)
    return Item(f"{name}-{digest(stretch)}", domain, document.encode(), "continue", (probe,))


def split(stretch: str, tokens: int, words: Vocabulary) -> tuple[str, str]:
    """A document that ends with a word, and its last `tokens` tokens or a few more, which begin with " word".

    Raises:
        UsageError: there is no such place.
    """
    ids = words.encode(stretch)
    before = len(words.decode(ids[: max(0, len(ids) - tokens)]).decode(errors="ignore"))
    found = [match.start() for match in BREAK.finditer(stretch) if match.start() <= before]
    if not found:
        raise UsageError(f"a stretch of {len(ids)} tokens can not be split before its last {tokens}; raise tokens")
    return stretch[: found[-1]], stretch[found[-1] :]
