"""Texts that every machine with CPython has, as pages to train on: help topics and modules of the standard library (PSF
licence)."""

from __future__ import annotations

import hashlib
import random
import sysconfig
from pathlib import Path

import numpy as np

from vtc.llm.vocabulary import Vocabulary
from vtc.records.errors import UsageError

LEAST_CHARS = 5
"""Characters a token that a text must have to be cut from; more than most texts need."""


def for_tuning(key: str) -> bool:
    """Whether a text, `domain/name`, is on the side that may be tuned on.

    The ruler in eval/ reports on the others. Neither workbench imports the other, so the rule stands in both, and a
    test compares them: one text of three, by the SHA-256 of its key.
    """
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") % 3 == 0


def texts() -> list[tuple[str, str]]:
    """Keys and texts of the tuning side, in the order of their keys."""
    from pydoc_data.topics import topics  # half a megabyte

    found = [(f"manual/{name}", text) for name, text in topics.items() if for_tuning(f"manual/{name}")]
    for path in Path(sysconfig.get_paths()["stdlib"]).glob("*.py"):
        if for_tuning(f"code/{path.stem}"):
            found.append((f"code/{path.stem}", path.read_text(encoding="utf-8", errors="replace")))
    return sorted(found)


def pages(
    words: Vocabulary, train: int, held_out: int, tokens: int, seed: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Pages to train on and pages held out, int32 of about `tokens` each, from places drawn at random.

    No text gives to both.

    Raises:
        UsageError: there are not enough texts of this length.
    """
    draw = random.Random(seed)
    long = [text for _, text in texts() if len(text) >= LEAST_CHARS * tokens]
    draw.shuffle(long)
    if len(long) <= held_out:
        raise UsageError(f"held_out={held_out}: there are {len(long)} texts of {tokens} tokens in all; lower it")

    def page(text: str) -> np.ndarray:
        start = draw.randrange(len(text) - LEAST_CHARS * tokens + 1)
        return words.encode(text[start : start + 2 * LEAST_CHARS * tokens])[:tokens]

    others = long[held_out:]
    return [page(others[number % len(others)]) for number in range(train)], [page(text) for text in long[:held_out]]
