"""Texts that tasks cut documents from, by domain, and how they are cut.

| domain | text | licence | where it lies |
|---|---|---|---|
| `prose` | short stories | MIT | evaluation data, see `eval.data` |
| `manual` | CPython's help topics, `pydoc_data.topics` | PSF | every Python |
| `code` | long modules of CPython's standard library, comments kept | PSF | every Python with its sources |
| `fox` | English pages of the Fox benchmark: law, news, papers, lists | MIT | evaluation data, see `eval.data` |
| `mixed` | `manual` and `code` together, for the longest documents | PSF | every Python with its sources |

`manual` and `code` depend on the version of Python, so ids of items made from them end in a `digest` of their text.
Every domain has two sides, see `eval.tasks.split`; a text of `mixed` is on the side that it has in its own domain.
"""

from __future__ import annotations

import hashlib
import random
import re
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from eval.data import fox_pages, stories
from eval.tasks.split import side
from vtc.llm.vocabulary import Vocabulary, utf8
from vtc.records.artefact import explain
from vtc.records.errors import UsageError, VtcError
from vtc.records.suggest import unknown

MODULES = (
    "_pydecimal _pyio argparse ast configparser dataclasses difflib doctest enum fractions functools imaplib inspect "
    "ipaddress locale mailbox os pickle pickletools plistlib pydoc random shutil smtplib socket ssl statistics "
    "subprocess tarfile tempfile threading traceback turtle typing uuid"
).split()
"""Single files of 25,000 to 230,000 characters from Python 3.10 on."""

BREAK = re.compile(r"(?<=\S) (?=[^\W\d_])")
"""A space between two words: whatever tokenizer splits before " word" splits the same with the text cut here."""

END = re.compile(r"(?<=[.!?:]) |\n\n")
"""What stands between two sentences or two paragraphs."""

LINE = re.compile(r"\n")

CHARS_PER_TOKEN = 8
"""More than any of these texts has on average, so that so many characters surely hold the tokens that are asked for."""


def prose(data: str | None, draw: random.Random | None) -> Iterator[tuple[str, str]]:
    """Stories; all are read for an order of their own, they are few."""
    yield from shuffled([(row["id"], row["text"]) for row in stories(data)], draw)


def fox(data: str | None, draw: random.Random | None) -> Iterator[tuple[str, str]]:
    """Pages; all are read for an order of their own, they are few."""
    yield from shuffled([(row["id"], row["text"]) for row in fox_pages(data)], draw)


def manual(data: str | None, draw: random.Random | None) -> Iterator[tuple[str, str]]:
    """Help topics."""
    from pydoc_data.topics import topics  # half a megabyte, only for those who read it

    for name in shuffled(sorted(topics), draw):
        yield name, topics[name]


def code(data: str | None, draw: random.Random | None) -> Iterator[tuple[str, str]]:
    """Modules, read one at a time."""
    for path in shuffled(modules(), draw):
        yield path.stem, source_of(path)


def mixed(data: str | None, draw: random.Random | None) -> Iterator[tuple[str, str]]:
    """Help topics and modules, named `manual/..` and `code/..`."""
    from pydoc_data.topics import topics

    for thing in shuffled([*sorted(topics), *modules()], draw):
        if isinstance(thing, Path):
            yield f"code/{thing.stem}", source_of(thing)
        else:
            yield f"manual/{thing}", topics[thing]


def modules() -> list[Path]:
    """Those of `MODULES` that this Python has.

    Raises:
        VtcError: it has none.
    """
    folder = Path(sysconfig.get_paths()["stdlib"])
    found = [path for name in MODULES if (path := folder / f"{name}.py").is_file()]
    if not found:
        raise VtcError(f"{folder}: this Python came without its sources; choose other domains than code")
    return found


def source_of(path: Path) -> str:
    """The text of a module.

    Raises:
        VtcError: it can not be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise VtcError(explain(error, path)) from error
    except UnicodeDecodeError as error:
        raise VtcError(f"{path}: not UTF-8") from error


Source = Callable[[str | None, random.Random | None], Iterator[tuple[str, str]]]
DOMAINS: dict[str, Source] = {"prose": prose, "manual": manual, "code": code, "fox": fox, "mixed": mixed}


def documents(
    domain: str, data: str | None = None, draw: random.Random | None = None, split: str = "all"
) -> Iterator[tuple[str, str]]:
    """Id and text of each document of a domain; texts are valid UTF-8 with `\\n` as the end of a line.

    Args:
        data: folder of the evaluation texts, see `eval.data.data_dir`.
        draw: puts them in a random order; None keeps their own.
        split: "dev" or "test" gives those of one side, see `eval.tasks.split`.

    Raises:
        UsageError: an unknown domain.
        VtcError: its texts are missing; with where they come from.
    """
    check_domains([domain])
    for name, text in DOMAINS[domain](data, draw):
        if split in ("all", side(name if domain == "mixed" else f"{domain}/{name}")):
            yield name, "\n".join(line.rstrip() for line in utf8(text).splitlines()).strip()


def haystack(
    domain: str,
    tokens: int,
    words: Vocabulary,
    draw: random.Random,
    data: str | None = None,
    split: str = "all",
) -> str:
    """Texts of a domain in a random order, one after another, cut to about `tokens` tokens, at a sentence's end if one
    is near.

    Raises:
        UsageError: all of them together are shorter.
    """
    found: list[str] = []
    size = 0
    for _, text in documents(domain, data, draw, split):
        found.append(text)
        size += len(text)
        if size >= tokens * CHARS_PER_TOKEN:
            break
    hay = lead("\n\n".join(found), tokens, words)
    held = len(words.encode(hay))
    if held < tokens * 0.9:
        whole = domain if split == "all" else f"{domain}, split {split},"
        raise UsageError(
            f"{tokens} tokens of {whole} were asked for, and all of it has {held}; choose less, or manual, code, mixed"
        )
    last = ends(hay)[-2]
    return hay[:last] if last > len(hay) * 0.95 else hay


def ends(text: str, pattern: re.Pattern[str] = END) -> list[int]:
    """Where sentences and paragraphs end, characters from the beginning; 0 and the end of the text are ends too."""
    return [0, *(match.start() for match in pattern.finditer(text)), len(text)]


def nearest_end(text: str, place: float) -> int:
    """The end of a sentence or a paragraph that is nearest to `place`, characters.

    Where a table or a listing has none within a twentieth of the text, the nearest end of a line is taken.
    """

    def nearest(pattern: re.Pattern[str]) -> int:
        return min(ends(text, pattern), key=lambda end: abs(end - place))

    found = nearest(END)
    return found if abs(found - place) <= len(text) / 20 else nearest(LINE)


def insert(text: str, places: Sequence[float], sentences: Sequence[str]) -> str:
    """A text with each sentence as a paragraph of its own, at the sentence end nearest to its place, characters."""
    return insert_at(text, [nearest_end(text, place) for place in places], sentences)


def insert_at(text: str, places: Sequence[int], sentences: Sequence[str]) -> str:
    """A text with each sentence as a paragraph of its own, at its place, characters."""
    for place, sentence in sorted(zip(places, sentences, strict=True), reverse=True):
        rest = text[place:]
        rest = rest.lstrip(" ") if rest.startswith(" ") else rest.lstrip("\n")  # keeps the indentation of code
        text = "\n\n".join(filter(None, [text[:place].rstrip(), sentence, rest]))
    return text


def span_of(text: str, sentence: str) -> tuple[int, int]:
    """Where a sentence that stands once in a text starts and stops, UTF-8 bytes."""
    start = len(text[: text.index(sentence)].encode())
    return start, start + len(sentence.encode())


def check_domains(domains: Sequence[str]) -> None:
    """Refuse domains that do not exist.

    Raises:
        UsageError: there is none, or an unknown one.
    """
    if not domains:
        raise UsageError(f"domains: is empty; choose from {', '.join(DOMAINS)}")
    for domain in domains:
        if domain not in DOMAINS:
            raise UsageError(unknown("domain", domain, list(DOMAINS)))


def cut(text: str, start: int, chars: int) -> str:
    """A stretch of at most `chars` characters from `start` on that begins and ends at whitespace, without it.

    A word that runs across one of the ends is left out; where the stretch holds no whole word it is empty.
    """
    start = min(start, len(text))
    stop = min(len(text), start + chars)
    inside = text[start:stop]
    if start > 0 and not text[start - 1].isspace():
        inside = re.sub(r"^\S+", "", inside)
    if stop < len(text) and not text[stop].isspace():
        inside = re.sub(r"\S+\Z", "", inside)
    return inside.strip()


def lead(text: str, tokens: int, words: Vocabulary) -> str:
    """The longest beginning of a text that ends before whitespace and takes at most about `tokens` tokens."""
    window = text[: tokens * CHARS_PER_TOKEN]
    ids = words.encode(window)
    if len(ids) <= tokens:
        return window.rstrip() if len(window) == len(text) else cut(text, 0, len(window))
    return cut(text, 0, len(words.decode(ids[:tokens]).decode(errors="ignore")))


def digest(text: str) -> str:
    """Eight hex digits that tell texts apart."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def shuffled(things: list, draw: random.Random | None) -> list:
    """In a random order; None keeps the order."""
    return things if draw is None else draw.sample(things, len(things))
