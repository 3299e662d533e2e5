"""Kinds of questions that take two facts: how the facts are said, and what is asked."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """Two sentences and a question, about `owner`, `other`, and the codes `first` and `second`."""

    sentences: tuple[str, str]
    question: str
    answer: tuple[str, ...]
    """What it must hold."""


KINDS: dict[str, Kind] = {
    "both": Kind(
        ("The door code of the {owner} is {first}.", "The safe code of the {owner} is {second}."),
        "What is the door code of the {owner}, and what is the safe code of the {owner}?",
        ("{first}", "{second}"),
    ),
    "chain": Kind(
        ("The {owner} lives with the {other}.", "The secret code of the {other} is {second}."),
        "What is the secret code of the person who lives with the {owner}?",
        ("{second}",),
    ),
}
