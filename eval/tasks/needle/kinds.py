"""Kinds of values: how one is drawn, said and asked for."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from eval.tasks.people import LAST, full_name


@dataclass(frozen=True)
class Kind:
    """One kind of value."""

    draw: Callable[[random.Random], str]
    similar: Callable[[str, random.Random], str]
    """A value that is easily taken for another one, or that one itself now and then."""
    sentence: str
    """The needle, with `owner` and `value`."""
    question: str
    """With `owner`."""
    paraphrased: str
    """With `other`, the owner in other words; it shares no content word with the needle."""
    edge: str
    """Characters that may not stand right before or after the value, see `eval.tasks.needle.score.holds`."""
    new_tokens: int
    """Room for the value in a short sentence."""


def other_digit(value: str, draw: random.Random) -> str:
    """A number with another digit behind the first."""
    place = draw.randrange(1, len(value))
    return f"{value[:place]}{draw.randrange(10)}{value[place + 1 :]}"


def other_tail(value: str, draw: random.Random) -> str:
    """A UUID that differs behind the first eight digits."""
    return value[:8] + str(uuid.UUID(int=draw.getrandbits(128), version=4))[8:]


def other_family(value: str, draw: random.Random) -> str:
    """A person with the same first name."""
    return f"{value.split()[0]} {draw.choice(LAST)}"


KINDS: dict[str, Kind] = {
    "digits": Kind(
        lambda draw: str(draw.randrange(10_000, 100_000)),
        other_digit,
        "The secret code of the {owner} is {value}.",
        "What is the secret code of the {owner}?",
        "What password does {other} use?",
        r"\d",
        24,
    ),
    "uuid": Kind(
        lambda draw: str(uuid.UUID(int=draw.getrandbits(128), version=4)),
        other_tail,
        "The secret key of the {owner} is {value}.",
        "What is the secret key of the {owner}?",
        "What password does {other} use?",
        r"\w-",
        64,
    ),
    "name": Kind(
        full_name,
        other_family,
        "The secret name of the {owner} is {value}.",
        "What is the secret name of the {owner}?",
        "What is {other} called?",
        r"\w",
        24,
    ),
}
