"""Haystacks with needles, one document at a time."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

from eval.schema import Item, Probe
from eval.tasks.filler import digest, haystack, insert
from eval.tasks.needle.kinds import KINDS
from eval.tasks.people import ROLES, fresh, fresh_roles
from vtc.llm.vocabulary import Vocabulary

if TYPE_CHECKING:
    from eval.tasks.needle import Needle


def items(task: Needle) -> Iterator[Item]:
    """Every length, depth and kind; each document is made when it is asked for."""
    words = Vocabulary.load(task.llm)
    for length, depth, kind, number in product(sorted(task.lengths), task.depths, task.kinds, range(task.n)):
        yield item(task, words, length, depth, kind, number)


def item(task: Needle, words: Vocabulary, length: int, depth: float, name: str, number: int) -> Item:
    """One document of about `length` tokens, needles included."""
    kind = KINDS[name]
    draw = random.Random(f"{task.seed}:needle:{task.filler}:{length}:{depth}:{name}:{number}")
    sample = kind.sentence.format(owner=ROLES[0], value=kind.draw(draw))
    room = length - task.needles * len(words.encode(f"\n\n{sample}\n\n"))
    hay = haystack(task.filler, room, words, draw, task.data)
    owners = fresh_roles(draw, hay, task.needles)
    values: list[str] = []
    for _ in owners:
        values.append(fresh(lambda: kind.draw(draw), hay, values))
    depths = spread(task.depths, depth, task.needles)
    straws = [kind.sentence.format(owner=owner, value=value) for owner, value in zip(owners, values, strict=True)]
    document = insert(hay, [depth * len(hay) for depth in depths], straws)
    probes = tuple(
        Probe(
            f"needle{i}",
            kind.question.format(owner=owner),
            answer=value,
            new_tokens=kind.new_tokens,
            tags={"kind": name, "length": length, "depth": where, "needles": task.needles},
        )
        for i, (owner, value, where) in enumerate(zip(owners, values, depths, strict=True))
    )
    title = f"{name}-{length}-{depth:g}-{task.needles}-{number}-{digest(document)}"
    return Item(title, task.filler, document.encode(), "ask", probes)


def spread(depths: tuple[float, ...], first: float, count: int) -> list[float]:
    """`count` different depths of the grid, evenly far from each other, that begin with `first`."""
    at, step = depths.index(first), len(depths) // count
    return [depths[(at + i * step) % len(depths)] for i in range(count)]
