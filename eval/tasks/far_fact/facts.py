"""Facts about made persons: how one is stated, and how a later sentence comes to need it."""

from __future__ import annotations

import random
from dataclasses import dataclass

from eval.tasks.people import PLACES, full_name


@dataclass(frozen=True)
class Fact:
    """One way to state something about a role, and to come back to it."""

    kind: str
    """name, number or place: what the value is."""
    statement: str
    """With `role` and `value`."""
    recall: str
    """With `role`; the value comes next."""


FACTS = (
    Fact("name", "The {role} was called {value}.", "That evening they asked the {role}, who was called"),
    Fact("name", "The name of the {role} was {value}.", "At last they wrote down that the name of the {role} was"),
    Fact("name", "The {role} was a person named {value}.", "The letter was for the {role}, a person named"),
    Fact("name", "The new {role} is {value}.", "When the door opened they greeted the new {role},"),
    Fact(
        "number",
        "The {role} lived at house number {value}.",
        "Late that night they went to the {role}, at house number",
    ),
    Fact("number", "The number of the {role} was {value}.", "Then they dialled the number of the {role}, which was"),
    Fact("number", "The {role} owned exactly {value} books.", "They counted again what the {role} owned, and it was"),
    Fact("place", "The {role} came from {value}.", "Years later they met the {role}, who came from"),
    Fact("place", "The {role} was born in {value}.", "The papers said that the {role} was born in"),
    Fact("place", "The {role} had moved to {value}.", "They sent the parcel on to the {role}, who had moved to"),
)
KINDS = ("name", "number", "place")


def draw_value(kind: str, draw: random.Random) -> str:
    """A value of a kind."""
    if kind == "name":
        return full_name(draw)
    return draw.choice(PLACES) if kind == "place" else str(draw.randrange(1000, 10_000))
