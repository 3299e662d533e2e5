"""Pages of symbols -> `page-0001.png`, .."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vtc import api
from vtc.document import is_document, name_pages
from vtc.document.paging import PAGE_SYMBOLS, TextPage, iter_pages
from vtc.glyphs.pages import write_page
from vtc.records.artefact import explain
from vtc.records.errors import UsageError, VtcError
from vtc.records.progress import bar
from vtc.records.streams import Source, open_source

ASPECT = 1.3
"""Height of a full page over its width; columns are chosen for it."""
FEWEST_COLUMNS = 4
PATTERN = "page-*.png"
LARGEST = 1 << 15
"""Cells of a page image: imaging libraries warn of larger pictures."""


class Cell(NamedTuple):
    """Size of a glyph image, px, as `write_page` asks for it."""

    cell_height: int
    cell_width: int


def write(
    source: Source,
    folder: str | os.PathLike[str],
    *,
    llm: str = api.DEFAULT_LLM,
    artifacts: str | os.PathLike[str] | None = None,
    page_symbols: int = PAGE_SYMBOLS,
    columns: int | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """Draw a text or a document as `page-0001.png`, .. in a folder, one page at a time.

    Args:
        source: a text (path, bytes or stream), or the path of a document, which keeps its own pages and symbols.
        folder: is made; must not hold page images yet. If anything fails, no page stays there.
        llm: whose tokens are the symbols of a text.
        artifacts: folder of glyph tables, else the user's cache.
        page_symbols: symbols of a page of a text.
        columns: cells in a row; default: for a page a little higher than wide.
        progress: show a bar on a terminal's standard error.

    Returns:
        JSON-able: `folder`, `pages`, `symbols`, `text_bytes`, `image_bytes`, `columns`.

    Raises:
        UsageError: an impossible number, or a folder with page images.
        PagesFailed: pages of the document did not come back.
        VtcError: a file cannot be read or written, or an artefact is missing.
    """
    if columns is not None and columns < 1:
        raise UsageError(f"--columns {columns}: choose 1 or more")
    folder = Path(folder)
    totals = {"pages": 0, "symbols": 0, "text_bytes": 0, "image_bytes": 0}
    with _pages_of(source, llm, artifacts, page_symbols) as (pages, table, name), _fresh(folder) as written:
        cell: Any = Cell(*table.cell)  # all that `write_page` asks an atlas for
        digest, before = hashlib.sha256(), hashlib.sha256().hexdigest()
        for page, last in _with_last(bar(pages, progress, unit="page")):
            if len(page.ids) > LARGEST:
                raise UsageError(f"a page of {len(page.ids)} symbols: an image holds {LARGEST}; lower --page-symbols")
            columns = columns or columns_for(len(page.ids), table.cell)
            digest.update(page.text)
            facts = {
                "table": table.hash,
                "llm": name,
                "page": len(written) + 1,
                "text_bytes": len(page.text),
                "before": before,
            }
            before = digest.hexdigest()
            facts |= {"patch": base64.b64encode(page.patch).decode()} if page.patch else {}
            facts |= {"whole": before} if last else {}
            path = folder / PATTERN.replace("*", f"{len(written) + 1:04d}")
            written.append(path)
            write_page(path, table.images[page.ids], columns, cell, facts)
            totals["pages"] += 1
            totals["symbols"] += len(page.ids)
            totals["text_bytes"] += len(page.text)
            totals["image_bytes"] += path.stat().st_size
    return {"folder": str(folder), **totals, "columns": columns}


def columns_for(symbols: int, cell: tuple[int, int]) -> int:
    """Columns of a page of so many cells of that height and width, px."""
    return max(FEWEST_COLUMNS, round((symbols * cell[0] / cell[1] / ASPECT) ** 0.5))


@contextmanager
def _pages_of(
    source: Source, llm: str, artifacts: str | os.PathLike[str] | None, page_symbols: int
) -> Iterator[tuple[Iterator[TextPage], Any, str]]:
    """Pages, glyph table and LLM's name of a document or a text; at least one page."""
    if isinstance(source, (str, os.PathLike)) and is_document(source):
        with api.opened(source, artifacts) as (document, codec, table):
            yield _at_least_one(_document_pages(document, codec, table)), table, document.header.llm
        return
    with open_source(source) as stream, api.artifacts_at(artifacts):
        vocabulary, table = api.load_parts(llm)
        yield _at_least_one(iter_pages(stream, vocabulary, page_symbols)), table, vocabulary.name


def _document_pages(document: Any, codec: Any, table: Any) -> Iterator[TextPage]:
    for page in document.restore(codec, table):
        if not page.exact:
            raise api.PagesFailed(
                f"{document.name}: {name_pages([page.index])} did not decode; compress the text again", [page.index]
            )
        yield TextPage(page.ids, page.text, document.page(page.index).patch)


def _at_least_one(pages: Iterator[TextPage]) -> Iterator[TextPage]:
    """An empty text is one page of symbol 0 that stands for no bytes."""
    first = next(pages, None)
    yield first or TextPage(np.zeros(1, np.int32), b"", b"")
    yield from pages


def _with_last(pages: Iterator[TextPage]) -> Iterator[tuple[TextPage, bool]]:
    """Pages, each with whether it is the last."""
    iterator = iter(pages)
    held = next(iterator)
    for page in iterator:
        yield held, False
        held = page
    yield held, True


@contextmanager
def _fresh(folder: Path) -> Iterator[list[Path]]:
    """A folder without page images; those listed by the block are removed again if it fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VtcError(explain(error, folder)) from error
    if any(folder.glob(PATTERN)):
        raise UsageError(f"{folder}: holds page images already; remove them or name another folder")
    written: list[Path] = []
    try:
        yield written
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        with suppress(OSError):
            folder.rmdir()
        raise
