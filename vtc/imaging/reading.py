"""`page-0001.png`, .. -> the text, by table look-up, and only if the pages are all there and belong together."""

from __future__ import annotations

import base64
import hashlib
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vtc import api
from vtc.document import name_pages
from vtc.document.paging import page_text
from vtc.glyphs.lookup import CellIndex
from vtc.glyphs.pages import read_ids, read_page
from vtc.imaging.writing import PATTERN
from vtc.records.errors import UsageError, VerificationError
from vtc.records.progress import bar
from vtc.records.streams import Target, open_target

FACTS = ("table", "llm", "page", "text_bytes", "before")
"""What every page of a text carries, beside what `write_page` adds."""


@dataclass(frozen=True)
class Page:
    """One page image after reading."""

    path: Path
    number: int
    """Counted from 1."""
    text: bytes
    before: str
    """SHA-256 of all text before this page, hex."""
    whole: str | None
    """On the last page: SHA-256 of the whole text, hex."""


def read(
    paths: Sequence[str | os.PathLike[str]],
    out: Target | None = None,
    *,
    artifacts: str | os.PathLike[str] | None = None,
    partial: bool = False,
    progress: bool = False,
) -> bytes | None:
    """Restore a text from its page images, exact to the byte; returned if there is no `out`.

    Args:
        paths: page images in any order, and folders of them.
        out: path (written atomically) or binary stream.
        artifacts: folder of glyph tables, else the user's cache.
        partial: write the text of the good pages, in their order, and raise only then.
        progress: show a bar on a terminal's standard error.

    Raises:
        VerificationError: pages are damaged, missing, there twice, or of another text.
        UsageError: a folder without page images, or no path.
        VtcError: a file is no page image, cannot be read, or an artefact is missing or another one.
    """
    files = image_files(paths)
    with api.artifacts_at(artifacts):
        pages, problems = read_pages(files, partial, progress)
    problems = problems or complaints(pages)
    if problems and not partial:
        raise VerificationError(f"{problems[0]}, or take the good pages with --partial")
    memory = io.BytesIO()
    with open_target(memory if out is None else out) as stream:
        for page in pages:
            stream.write(page.text)
    if problems:
        raise VerificationError(f"{problems[0]}; the good pages were written")
    return memory.getvalue() if out is None else None


def image_files(paths: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Files as they are, and the page images of folders; each once.

    Raises:
        UsageError: a folder without any, or no path.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        inside = sorted(path.glob(PATTERN)) if path.is_dir() else [path]
        if not inside:
            raise UsageError(f"{path}: holds no {PATTERN}; make page images with: vtc pages IN -o {path}")
        found += inside
    if not found:
        raise UsageError("no page images named; name a folder or PNG files")
    return list(dict.fromkeys(found))


def read_pages(files: Sequence[Path], partial: bool, progress: bool) -> tuple[list[Page], list[str]]:
    """Pages in the order of their numbers; with `partial` the damaged ones are left out and told as the second."""
    facts = facts_of(files[0])
    table = api.load_table(facts["llm"])
    index = CellIndex(table.images)
    pages, problems = [], []
    for path in bar(files, progress, unit="page"):
        try:
            pages.append(read_one(path, index, table))
        except VerificationError as error:
            if not partial:
                raise
            problems.append(str(error))
    return sorted(pages, key=lambda page: page.number), problems


def facts_of(path: Path) -> dict[str, Any]:
    """The facts of a page image of a text."""
    return checked(path, read_page(path)[1])


def checked(path: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Facts that tell where a page belongs.

    Raises:
        VerificationError: they are missing.
    """
    missing = [name for name in FACTS if name not in facts]
    if missing:
        raise VerificationError(
            f"{path}: does not say its {' and '.join(missing)}, so its text is not known exactly; "
            "make page images with: vtc pages IN -o DIR"
        )
    return facts


def read_one(path: Path, index: CellIndex, table: Any) -> Page:
    """One page by table look-up.

    Raises:
        VerificationError: it is damaged.
        VtcError: no page image, or drawn with another table.
    """
    ids, facts = read_ids(path, index, table.hash)
    checked(path, facts)
    size = facts["text_bytes"]
    text = page_text(table, ids, size, base64.b64decode(facts.get("patch", ""))) if size else b""
    if len(text) != size:
        raise VerificationError(f"{path}: gives {len(text)} bytes of text and promises {size}; draw the text again")
    return Page(path, facts["page"], text, facts["before"], facts.get("whole"))


def complaints(pages: Sequence[Page]) -> list[str]:
    """What is wrong with good pages, in their order, as a whole; empty if nothing is."""
    place, numbers = pages[0].path.parent, [page.number for page in pages]
    for one, other in zip(pages, pages[1:], strict=False):
        if one.number == other.number:
            return [f"{one.path} and {other.path}: are both page {one.number}; leave one out"]
    gaps = sorted(set(range(1, numbers[-1] + 1)) - set(numbers))
    if gaps:
        are = "is" if len(gaps) == 1 else "are"
        return [f"{place}: {name_pages([number - 1 for number in gaps])} {are} missing; add what is missing"]
    if pages[-1].whole is None:
        return [f"{place}: the pages after page {numbers[-1]} are missing; add what is missing"]
    digest = hashlib.sha256()
    for page in pages:
        if page.before != digest.hexdigest():
            return [f"{page.path}: belongs to another text than the pages before it; keep the pages of one text"]
        digest.update(page.text)
        if page.whole not in (None, digest.hexdigest()):
            return [f"{page.path}: ends a text with another SHA-256; draw the text again"]
    return []
