"""Two sides of every text: what is tuned on `dev` is reported on `test`.

The side hangs on the SHA-256 of a text's domain and name, so that it is the same on every machine, in every order, and
whatever else a domain holds.
"""

from __future__ import annotations

import hashlib

from vtc.records.errors import UsageError
from vtc.records.suggest import unknown

SPLITS = ("all", "dev", "test")

SHARE = 3
"""One text of so many is for tuning."""


def side(key: str) -> str:
    """`dev` or `test`, for a text's `domain/name`."""
    number = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")
    return "test" if number % SHARE else "dev"


def check_split(split: str) -> None:
    """Refuse a split that does not exist.

    Raises:
        UsageError: with the nearest one.
    """
    if split not in SPLITS:
        raise UsageError(unknown("split", split, list(SPLITS)))
