"""Kinds of values: how one is drawn, said and asked for."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from eval.tasks.people import full_name


@dataclass(frozen=True)
class Kind:
    """One kind of value."""

    draw: Callable[[random.Random], str]
    sentence: str
    """The needle, with `owner` and `value`."""
    question: str
    """With `owner`."""
    edge: str
    """Characters that may not stand right before or after the value, see `eval.tasks.needle.score.holds`."""
    new_tokens: int
    """Room for the value in a short sentence."""


KINDS: dict[str, Kind] = {
    "digits": Kind(
        lambda draw: str(draw.randrange(10_000, 100_000)),
        "The secret code of the {owner} is {value}.",
        "What is the secret code of the {owner}?",
        r"\d",
        24,
    ),
    "uuid": Kind(
        lambda draw: str(uuid.UUID(int=draw.getrandbits(128), version=4)),
        "The secret key of the {owner} is {value}.",
        "What is the secret key of the {owner}?",
        r"\w-",
        64,
    ),
    "name": Kind(
        full_name,
        "The secret name of the {owner} is {value}.",
        "What is the secret name of the {owner}?",
        r"\w",
        24,
    ),
}
