"""Two texts side by side with what differs marked in both, and long stretches that are equal folded away."""

from __future__ import annotations

import os.path
from dataclasses import dataclass
from typing import Literal, get_args

from rapidfuzz.distance import Levenshtein

from eval.reporting.characters import pointed_out, shown

Kind = Literal["equal", "replace", "delete", "insert"]
COMPARED = 20_000
"""Characters from the first difference on that are compared: the path of a minimal edit takes memory in the product."""
SHOWN = 3_000
"""Characters of the longer side that are shown."""
AROUND = 60
"""Equal characters that stay visible on either side of a difference."""


@dataclass(frozen=True)
class Span:
    """A stretch of the reference and what the output has in its place."""

    kind: Kind
    left: str
    """Of the reference."""
    right: str
    """Of the output."""


def spans(reference: str, output: str) -> list[Span]:
    """Both texts cut at the differences of a minimal edit; the parts joined again are the texts.

    Beyond `COMPARED` characters from the first difference the rest is one span, "replace" if the rests differ.
    """
    start = len(os.path.commonprefix([reference, output]))
    left, right = reference[start : start + COMPARED], output[start : start + COMPARED]
    found = [Span("equal", reference[:start], reference[:start])] if start else []
    kinds: dict[str, Kind] = {kind: kind for kind in get_args(Kind)}
    for step in Levenshtein.opcodes(left, right):
        found.append(Span(kinds[step.tag], left[step.src_start : step.src_end], right[step.dest_start : step.dest_end]))
    left, right = reference[start + COMPARED :], output[start + COMPARED :]
    if left or right:
        found.append(Span("equal" if left == right else "replace", left, right))
    return found


def columns(reference: str, output: str, limit: int = SHOWN) -> tuple[str, str]:
    """HTML of both sides; about `limit` characters of each are shown, starting before the first difference."""
    left, right, used = [], [], 0
    parts = spans(reference, output)
    rest: list[Span] = []
    for number, span in enumerate(parts):
        room = limit - used
        if room <= 0:
            rest = parts[number:]
            break
        if span.kind == "equal":
            text = folded(span.left, first=number == 0, last=number == len(parts) - 1)
            left.append(text)
            right.append(text)
            used += min(len(span.left), 2 * AROUND)
            continue
        left.append(marked("del", span.left[:room]))
        right.append(marked("ins", span.right[:room]))
        used += max(len(span.left), len(span.right))
        if used > limit:
            rest = [Span("replace", span.left[room:], span.right[room:]), *parts[number + 1 :]]
            break
    left.append(_rest(sum(len(part.left) for part in rest)))
    right.append(_rest(sum(len(part.right) for part in rest)))
    return "".join(left), "".join(right)


def marked(tag: Literal["del", "ins"], text: str) -> str:
    """A stretch that differs: `del` in the reference (what was lost), `ins` in the output (what came instead)."""
    return f"<{tag}>{pointed_out(text)}</{tag}>" if text else '<span class="gap" title="nothing here"></span>'


FOLD = ' <span class="fold">… {} …</span> '


def folded(text: str, first: bool = False, last: bool = False) -> str:
    """A stretch that is equal, without its middle where that is long; without its beginning (or end) at either end."""
    before, after = (0 if first else AROUND), (0 if last else AROUND)
    hidden = len(text) - before - after
    if hidden <= AROUND:
        return shown(text)
    fold = FOLD.format(f"{hidden:,} equal characters")
    return shown(text[:before]) + fold + shown(text[len(text) - after :])


def _rest(hidden: int) -> str:
    return FOLD.format(f"{hidden:,} more characters") if hidden else ""
