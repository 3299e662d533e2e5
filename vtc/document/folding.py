"""From a stream of bytes to the pages of a document: cut, fold, add."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from vtc.codecs.base import Codec
from vtc.document.header import Header
from vtc.document.paging import PAGE_SYMBOLS, Readable, TextPage, iter_pages
from vtc.document.reader import BATCH
from vtc.document.writer import DocumentWriter

Item = TypeVar("Item")


def new_header(codec: str, coder: Codec, vocabulary: Any, table: Any) -> Header:
    """Header of a document that is about to be written with these; `codec` is the registered name of `coder`."""
    config = coder.config()
    return Header(
        codec=codec,
        config=config,
        llm=vocabulary.name,
        vocabulary_hash=vocabulary.hash,
        table_hash=table.hash,
        latent_bytes=coder.latent_bytes,
        exact=True if config.get("verify", True) else None,
    )


def write_pages(
    document: DocumentWriter,
    stream: Readable,
    vocabulary: Any,
    coder: Codec,
    page_symbols: int = PAGE_SYMBOLS,
    on_page: Callable[[TextPage], None] | None = None,
) -> None:
    """Cut a text into pages, fold them and add them to a document, in bounded memory; `on_page` sees each of them."""
    for group in groups(iter_pages(stream, vocabulary, page_symbols), BATCH):
        for page, coded in zip(group, coder.encode([page.ids for page in group]), strict=True):
            document.add(coded, page.text, page.patch)
            if on_page:
                on_page(page)


def groups(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Lists of `size` items, the last one shorter."""
    iterator = iter(items)
    while group := list(islice(iterator, size)):
        yield group
