"""The nearest known name for one that is not known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """One line: what is unknown, the nearest known name if there is a near one, and all known names."""
    names = sorted(known)
    near = get_close_matches(name.lower(), names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ";"
    return f"unknown {kind} {name!r}{hint} known: {', '.join(names) or 'none'}"
