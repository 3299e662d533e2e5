"""Sentences of a needle's form about others: what mistakes one owner or one value for another reads the wrong one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from eval.tasks.needle.kinds import Kind
from eval.tasks.needle.wordings import NEIGHBOURS
from eval.tasks.people import fresh_roles

NEAR = 800
"""Characters between a needle and a look-alike beside it, at most: about 200 tokens."""


@dataclass(frozen=True)
class Straw:
    """What a sentence says, and where it stands: 0 is the beginning of the document, 1 the end."""

    owner: str
    value: str
    depth: float


def lookalikes(kind: Kind, needles: Sequence[Straw], count: int, hay: str, draw: random.Random) -> list[Straw]:
    """`count` for each needle, by turns one beside it and one elsewhere; no owner and no value stands twice.

    Beside it another owner has a similar value. Elsewhere the needle's neighbour has any value, and then others have.
    """
    owners = fresh_roles(draw, hay, len(needles) * (1 + count)) if count else []
    owners = [owner for owner in owners if owner not in {needle.owner for needle in needles}]
    taken = {needle.value for needle in needles}
    found: list[Straw] = []
    for needle in needles:
        for turn in range(count):
            near = turn % 2 == 0
            owner = NEIGHBOURS[needle.owner] if turn == 1 else owners.pop()
            depth = needle.depth + draw.uniform(-1, 1) * NEAR / len(hay) if near else draw.random()
            while (value := kind.similar(needle.value, draw) if near else kind.draw(draw)) in taken or value in hay:
                pass
            taken.add(value)
            found.append(Straw(owner, value, min(max(depth, 0.0), 1.0)))
    return found
