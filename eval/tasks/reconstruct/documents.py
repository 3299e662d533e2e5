"""The sets of the task `reconstruct`: name -> generator of pages. Nothing but the page at hand is held."""

from __future__ import annotations

import importlib.util
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval import data, texts
from eval.tasks.reconstruct.identifiers import identifier_page
from eval.tasks.reconstruct.poems import POEMS
from eval.tasks.reconstruct.torture import torture_texts
from vtc.records.errors import VtcError

MADE_PAGES = 20
"""Pages of a set that is drawn at random, unless another number is asked for."""
PAGE_CHARACTERS = 4000
"""Length to which long texts are cut."""
PYTHON_MODULES = ("heapq", "textwrap", "shlex", "colorsys", "graphlib", "sched", "fnmatch", "bisect")
"""Modules of CPython's library whose source is read; nothing that is trained may see them."""
TIMES = (3, 17, 100, 365)
"""How often the repeated line of a page stands there; pages take turns."""


@dataclass(frozen=True)
class Page:
    """One page before it is an item."""

    name: str
    """Unique within its set."""
    text: bytes
    stored: Mapping[str, str] = field(default_factory=dict)


Maker = Callable[[int, "str | None", int], Iterator[Page]]
"""From the seed, the folder of the evaluation texts and the number of pages to be made, to pages."""


def fox(seed: int, folder: str | None, count: int) -> Iterator[Page]:
    """English pages of the Fox benchmark, with what DeepSeek-OCR made of them."""
    return _published(data.fox_pages(folder))


def letters(seed: int, folder: str | None, count: int) -> Iterator[Page]:
    """Random letters, with what DeepSeek-OCR made of them."""
    return _published(data.random_letters(folder))


def stories(seed: int, folder: str | None, count: int) -> Iterator[Page]:
    """Short stories in English."""
    for story in data.stories(folder):
        yield from _pages(story["id"], story["text"])


def python(seed: int, folder: str | None, count: int) -> Iterator[Page]:
    """Source of `PYTHON_MODULES`, which differs a little between versions of Python."""
    for name in PYTHON_MODULES:
        yield from _pages(name, source_of(name).read_bytes().decode("utf-8"))


def source_of(module: str) -> Path:
    """The source file of a module of CPython's library.

    Raises:
        VtcError: this Python has none.
    """
    spec = importlib.util.find_spec(module)
    path = Path(spec.origin if spec and spec.origin else f"{module}.py")
    if path.suffix != ".py" or not path.is_file():
        raise VtcError(
            f"{path}: this Python comes without the source of its library; use a full installation of CPython"
        )
    return path


def poems(seed: int, folder: str | None, count: int) -> Iterator[Page]:
    """Classical Chinese, Japanese and Korean."""
    for name, text in POEMS.items():
        yield Page(name, text.encode())


def han(seed: int, folder: str | None, count: int) -> Iterator[Page]:
    """Random Han characters."""
    return _numbered(page.encode() for page in texts.han_pages(count, seed))


def hexadecimal(seed: int, folder: str | None, count: int) -> Iterator[Page]:
    """Lines of 64 random hexadecimal digits."""
    return _numbered(page.encode() for page in texts.hex_pages(count, seed))


def identifiers(seed: int, folder: str | None, count: int) -> Iterator[Page]:
    """IBANs, UUIDs, hashes and their like."""
    return _numbered(identifier_page(random.Random(f"{seed}:identifiers:{i}")).encode() for i in range(count))


def torture(seed: int, folder: str | None, count: int) -> Iterator[Page]:
    """What breaks a text pipeline, each on its own page."""
    for name, text in torture_texts():
        yield Page(name, text)


def repeated(seed: int, folder: str | None, count: int) -> Iterator[Page]:
    """One line over and over between others."""
    return _numbered(
        repeated_page(random.Random(f"{seed}:repeated:{i}"), TIMES[i % len(TIMES)]).encode() for i in range(count)
    )


WORDS = tuple(
    "river stone copper window garden letter winter signal engine harbour paper thunder orchard mirror".split()
)


def repeated_page(draw: random.Random, times: int) -> str:
    """A line that stands `times` times in three runs, among twelve lines that stand there once."""
    line = " ".join(draw.sample(WORDS, 5))
    others = [f"{i + 1}. " + " ".join(draw.sample(WORDS, 6)) for i in range(12)]
    first, second = sorted(draw.sample(range(1, times), 2))
    runs = [first, second - first, times - second]
    groups = [others[:3], others[3:7], others[7:10], others[10:]]
    rows = [row for group, run in zip(groups, [*runs, 0], strict=True) for row in (*group, *[line] * run)]
    return "\n".join([*rows, ""])


SETS: dict[str, Maker] = {
    "fox": fox,
    "random-letters": letters,
    "stories": stories,
    "python": python,
    "poems": poems,
    "han": han,
    "unicode": torture,
    "hex": hexadecimal,
    "identifiers": identifiers,
    "repeated": repeated,
}


def cut(text: str, size: int = PAGE_CHARACTERS) -> Iterator[str]:
    """Pages that end where a paragraph ends and hold at most `size` characters, unless one paragraph is longer; joined
    they are the text."""
    page = ""
    for paragraph in re.split(r"(?<=\n\n)(?!\n)", text):
        if page and len(page) + len(paragraph) > size:
            yield page
            page = ""
        page += paragraph
    if page:
        yield page


def _pages(name: str, text: str) -> Iterator[Page]:
    for i, page in enumerate(cut(text)):
        yield Page(f"{name}-{i + 1}", page.encode())


def _numbered(pages: Iterable[bytes]) -> Iterator[Page]:
    for i, page in enumerate(pages):
        yield Page(str(i + 1), page)


def _published(rows: Iterable[Mapping[str, Any]]) -> Iterator[Page]:
    for row in rows:
        stored = {**row["deepseek_ocr"], "tokens_deepseek": str(row["tokens_deepseek"])}
        yield Page(row["id"], row["text"].encode(), stored)
