"""Pages for a reader: decoded from a document, or cut from a plain text."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from vtc.codecs.base import Codec
from vtc.document import Document, Header
from vtc.document.paging import PageTable, iter_pages
from vtc.readers.base import Page
from vtc.records.progress import bar

if TYPE_CHECKING:
    from vtc.llm.frozen import FrozenLM
    from vtc.llm.vocabulary import Vocabulary


def decoded(
    document: Document, codec: Codec, table: PageTable, words: Vocabulary, failed: list[int], progress: bool = False
) -> Iterator[Page]:
    """Pages of a document; the indices of those that did not decode, counted from 0, are added to `failed`.

    Args:
        words: vocabulary of the LLM that reads; the document's own ids serve where it was written with the same.
    """
    same = document.header.vocabulary_hash == words.hash
    for page in bar(document.restore(codec, table), progress, total=len(document), unit="page"):
        if not page.exact:
            failed.append(page.index)
        yield Page(page.text, page.ids if same else words.encode(page.text.decode(errors="replace")))


def plain(text: bytes, llm: FrozenLM) -> tuple[Header, list[Page]]:
    """Pages of a text of any bytes, as a document would have them, and its facts; the codec is called "none"."""
    pages = [Page(page.text, page.ids) for page in iter_pages(io.BytesIO(text), llm.vocabulary)]
    header = Header(
        codec="none",
        config={},
        llm=llm.name,
        vocabulary_hash=llm.vocabulary.hash,
        table_hash="",
        latent_bytes=0,
        exact=True,
        text_bytes=len(text),
        text_tokens=sum(len(page.ids) for page in pages),
        pages=len(pages),
        sha256=hashlib.sha256(text).hexdigest(),
    )
    return header, pages
