"""A text as stretches: a document that is read, and the tokens after it, which are held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vtc.records.errors import UsageError

SHORTEST = 64
"""Tokens of the shortest document that is worth compressing."""


@dataclass(frozen=True)
class Stretch:
    """One place of a text."""

    document: np.ndarray
    """int32 [n], what is read and compressed."""
    held_out: np.ndarray
    """int32 [m + 1], what follows. Its first token is read and not scored: what was compressed last need not predict
    it."""


def cut(ids: np.ndarray, count: int, tokens: int, next_tokens: int, seed: int, title: str) -> list[Stretch]:
    """Stretches of a text that do not overlap, in its order; one shorter document where there is no room for `tokens`.

    The text is cut between its own tokens, so a document and what follows it are tokenized as the text was.

    Args:
        ids: int32 [n], the text.
        count: most stretches; drawn at random where there are more.
        tokens: of a document.
        next_tokens: that are scored after it.
        title: what the message calls the text.

    Raises:
        UsageError: the text is too short.
    """
    beside = next_tokens + 1
    size = tokens + beside
    if len(ids) < size:
        tokens = len(ids) - beside
        if tokens < SHORTEST:
            raise UsageError(
                f"{title}: holds {len(ids)} tokens, and measuring a reader takes {SHORTEST} of a document and {beside} "
                "that follow; name a longer text or lower --next-tokens"
            )
        return [Stretch(ids[:tokens], ids[tokens:])]
    places = np.arange(len(ids) // size)
    if len(places) > count:
        places = np.sort(np.random.default_rng(seed).choice(places, count, replace=False))
    starts = places * size
    return [Stretch(ids[start : start + tokens], ids[start + tokens : start + size]) for start in starts.tolist()]
