"""Texts with two pairs of facts. Each pair is what the other might be mistaken for."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

from eval.schema import Item, Probe
from eval.tasks.filler import digest, haystack, insert, span_of
from eval.tasks.people import ROLES, fresh, fresh_roles
from eval.tasks.two_pages.kinds import KINDS
from vtc.llm.vocabulary import Vocabulary

if TYPE_CHECKING:
    from eval.tasks.two_pages import TwoPages

DEPTHS = (0.1, 0.35, 0.6, 0.85)
"""Where facts stand, give or take `JITTER`; those of a pair are two places apart, half the document."""
JITTER = 0.05
AND = " and "
"""Between the values of an answer; no value holds it."""


def items(task: TwoPages) -> Iterator[Item]:
    """Every length and kind; each document is made when it is asked for."""
    words = Vocabulary.load(task.llm)
    for length, kind, number in product(sorted(task.lengths), task.kinds, range(task.n)):
        yield item(task, words, length, kind, number)


def item(task: TwoPages, words: Vocabulary, length: int, name: str, number: int) -> Item:
    """One document of about `length` tokens, facts included, with a question about each pair."""
    kind = KINDS[name]
    draw = random.Random(f"{task.seed}:two_pages:{task.filler}:{length}:{name}:{number}")
    sample = kind.sentences[1].format(owner=ROLES[0], other=ROLES[0], second=10_000)
    hay = haystack(task.filler, length - 4 * len(words.encode(f"\n\n{sample}\n\n")), words, draw, task.data, task.split)
    roles = fresh_roles(draw, hay, 4)
    codes: list[str] = []
    for _ in roles:
        codes.append(fresh(lambda: str(draw.randrange(10_000, 100_000)), hay, codes))
    pairs = [{"owner": roles[i], "other": roles[i + 2], "first": codes[i], "second": codes[i + 2]} for i in range(2)]
    facts = [sentence.format(**pair) for sentence in kind.sentences for pair in pairs]  # a pair is two apart
    first = draw.randrange(4)  # the second fact of a pair may come before the first
    depths = [DEPTHS[(first + i) % 4] + draw.uniform(-JITTER, JITTER) for i in range(4)]
    document = insert(hay, [depth * len(hay) for depth in depths], facts)
    answers = [[value.format(**pair) for value in kind.answer] for pair in pairs]
    probes = tuple(
        Probe(
            f"pair{i}",
            kind.question.format(**pairs[i]),
            answer=AND.join(answers[i]),
            wrong=tuple(answers[1 - i]),
            evidence=(span_of(document, facts[i]), span_of(document, facts[i + 2])),
            new_tokens=48,
            tags={"kind": name, "length": length},
        )
        for i in range(2)
    )
    title = f"{name}-{length}-{number}-{digest(document)}"
    return Item(title, task.filler, document.encode(), "ask", probes)
