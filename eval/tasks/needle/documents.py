"""Haystacks with needles, one document at a time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

from eval.schema import Item, Probe
from eval.tasks.filler import digest, haystack, insert, span_of
from eval.tasks.needle.kinds import KINDS, Kind
from eval.tasks.needle.lookalikes import Straw, lookalikes
from eval.tasks.needle.wordings import OTHER_WORDS
from eval.tasks.people import ROLES, fresh, fresh_roles
from vtc.llm.vocabulary import Vocabulary

if TYPE_CHECKING:
    from eval.tasks.needle import Needle

GOLDEN = (5**0.5 - 1) / 2
"""Those of its multiples that fall into an arc of a circle follow each other at nearly even distances."""


def items(task: Needle) -> Iterator[Item]:
    """Every length, number of needles, depth and kind; each document is made when it is asked for."""
    words = Vocabulary.load(task.llm)
    grid = list(product(task.counts, task.depths, task.kinds, range(task.n)))
    samples = dict(zip(task.lengths, task.sample or [len(grid)] * len(task.lengths), strict=True))
    for length in sorted(samples):
        for place in places(len(grid), samples[length]):
            yield item(task, words, length, *grid[place])


def places(count: int, sample: int) -> list[int]:
    """Indices of `sample` of `count` things, spread over all of them and in step with nothing that repeats in them."""
    return sorted(sorted(range(count), key=lambda i: i * GOLDEN % 1)[:sample])


def item(task: Needle, words: Vocabulary, length: int, needles: int, depth: float, name: str, number: int) -> Item:
    """One document of about `length` tokens, needles and look-alikes included."""
    kind = KINDS[name]
    draw = random.Random(f"{task.seed}:needle:{task.filler}:{length}:{depth}:{name}:{number}")
    sample = kind.sentence.format(owner=ROLES[0], value=kind.draw(draw))
    room = length - needles * (1 + task.lookalikes) * len(words.encode(f"\n\n{sample}\n\n"))
    hay = haystack(task.filler, room, words, draw, task.data, task.split)
    owners = fresh_roles(draw, hay, needles)
    values: list[str] = []
    for _ in owners:
        values.append(fresh(lambda: kind.draw(draw), hay, values))
    depths = spread(task.depths, depth, needles)
    straws = [Straw(*straw) for straw in zip(owners, values, depths, strict=True)]
    others = lookalikes(kind, straws, task.lookalikes, hay, draw)
    every = [*straws, *others]
    sentences = [kind.sentence.format(owner=straw.owner, value=straw.value) for straw in every]
    document = insert(hay, [straw.depth * len(hay) for straw in every], sentences)
    probes = []
    for number_of, (straw, sentence) in enumerate(zip(straws, sentences, strict=False)):
        tags: dict[str, str | int | float] = {"kind": name, "length": length, "depth": straw.depth, "needles": needles}
        for wording in task.wordings:
            probes.append(
                Probe(
                    f"needle{number_of}" if wording == "plain" else f"needle{number_of}-{wording}",
                    question(kind, straw.owner, wording),
                    answer=straw.value,
                    wrong=tuple(other.value for other in others),
                    evidence=(span_of(document, sentence),),
                    new_tokens=kind.new_tokens,
                    tags={**tags, "wording": wording},
                )
            )
    title = f"{name}-{length}-{depth:g}-{needles}-{number}-{digest(document)}"
    return Item(title, task.filler, document.encode(), "ask", tuple(probes))


def question(kind: Kind, owner: str, wording: str) -> str:
    """What is asked about an owner, in the needle's words or in others."""
    if wording == "plain":
        return kind.question.format(owner=owner)
    return kind.paraphrased.format(other=OTHER_WORDS[owner])


def spread(depths: tuple[float, ...], first: float, count: int) -> list[float]:
    """`count` different depths of the grid, evenly far from each other, that begin with `first`."""
    at, step = depths.index(first), len(depths) // count
    return [depths[(at + i * step) % len(depths)] for i in range(count)]
