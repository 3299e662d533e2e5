"""From texts to ids, the same for every reader and every peer: what stands before the document, and what follows it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eval.schema import Item, Probe
from vtc.llm.frozen import FrozenLM
from vtc.readers.base import AFTER, BEFORE
from vtc.records.errors import UsageError


@dataclass(frozen=True)
class Framed:
    """A probe as ids, int32 each."""

    prompt: np.ndarray
    """Read after the document; at least one id."""
    choices: list[np.ndarray]
    """Scored after the prompt, each at least one id; empty where an answer is generated."""


def opening(llm: FrozenLM, item: Item) -> np.ndarray:
    """Ids before the document, int32 [k >= 1]."""
    if item.mode == "ask":
        return llm.chat_around(BEFORE, AFTER)[0]
    return np.array([llm.start], np.int32)


def framed(llm: FrozenLM, item: Item, probe: Probe, given: np.ndarray | None = None) -> Framed:
    """A probe's ids after the document.

    Where a text goes on with nothing between, its first token is read and not scored, for every system alike: what was
    compressed last need not predict it.

    Args:
        given: ids int32 [n] that a reader itself puts after what it holds; None: what the item's mode implies.

    Raises:
        UsageError: there is nothing to read or to score.
    """
    words = llm.vocabulary
    choices = words.encode_batch(probe.choices) if probe.choices else []
    if item.mode == "ask":
        prompt = llm.chat_around(BEFORE, AFTER.format(question=probe.prompt))[1] if given is None else given
    else:
        own = np.zeros(0, np.int32) if given is None else given
        prompt = np.concatenate([own, words.encode(probe.prompt)])
        if not len(prompt) and len(choices) == 1:
            prompt, choices = choices[0][:1], [choices[0][1:]]
    if not len(prompt) or any(not len(choice) for choice in choices):
        raise UsageError(f"item {item.id}, probe {probe.name}: is too short to score; make its text longer")
    return Framed(prompt.astype(np.int32), choices)
