"""Compress a text into a document, restore it, say what one holds: the one place that puts the parts together.

    import vtc.api
    record = vtc.api.compress("report.txt", "report.vtc")
    text = vtc.api.restore("report.vtc")

Symbols become bytes by the glyph table alone, so restoring needs neither the LLM nor its tokenizer.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from vtc.codecs.base import Codec
from vtc.document import Document, Header, name_pages, write_document
from vtc.document.paging import PAGE_SYMBOLS, iter_pages
from vtc.document.reader import BATCH
from vtc.records.errors import UsageError, VerificationError, VtcError
from vtc.records.progress import bar
from vtc.records.registry import CODECS, lookup
from vtc.records.streams import Source, Target, open_source, open_target, refuse_same_file
from vtc.records.suggest import unknown

DEFAULT_LLM = "smollm2-135m"
DEFAULT_CODEC = "hard"

Item = TypeVar("Item")


class PagesFailed(VerificationError):
    """Pages did not come back; `pages` are their numbers, counted from 1."""

    def __init__(self, message: str, indices: list[int]) -> None:
        super().__init__(message)
        self.pages = [i + 1 for i in indices]


def compress(
    source: Source,
    out: Target,
    *,
    codec: str = DEFAULT_CODEC,
    llm: str = DEFAULT_LLM,
    artifacts: str | os.PathLike[str] | None = None,
    page_symbols: int = PAGE_SYMBOLS,
    progress: bool = False,
    **codec_options: Any,
) -> dict[str, Any]:
    """Compress a text of any size and any bytes, in bounded memory, and return what `info` says about the result.

    Args:
        source: path, the bytes themselves, or a binary stream.
        out: path (written atomically) or binary stream.
        codec: name in `vtc.records.registry.CODECS`.
        llm: the frozen LLM whose tokens are the symbols: the default's name, a folder or a hub id.
        artifacts: folder of glyph tables and priors, else the user's cache.
        page_symbols: symbols of a page; a page is checked, decoded and read as one.
        progress: show a bar on a terminal's standard error when it takes over 2 s.
        codec_options: fields of the codec's dataclass, such as density or storage.

    Raises:
        UsageError: an unknown codec or option, or a value that the codec cannot serve.
        VtcError: a file cannot be read or written, or an artefact is missing.
    """
    refuse_same_file(source, out)
    with open_source(source, progress) as stream, artifacts_at(artifacts):
        vocabulary, table = load_vocabulary(llm), load_table(llm)
        if vocabulary.hash != table.vocabulary_hash:
            raise VtcError(
                f"glyph table of {vocabulary.name!r}: was built for the vocabulary {table.vocabulary_hash[:12]} and "
                f"this one is {vocabulary.hash[:12]}; build it again: python -m codebooks.table"
            )
        coder = build_codec(codec, table, codec_options)
        config = coder.config()
        header = Header(
            codec=codec,
            config=config,
            llm=vocabulary.name,
            vocabulary_hash=vocabulary.hash,
            table_hash=table.hash,
            latent_bytes=coder.latent_bytes,
            exact=True if config.get("verify", True) else None,
        )
        with write_document(out, header) as document:
            for group in _groups(iter_pages(stream, vocabulary, page_symbols), BATCH):
                for page, coded in zip(group, coder.encode([page.ids for page in group]), strict=True):
                    document.add(coded, page.text, page.patch)
    return record(document.header, document.size_bytes)


def restore(
    source: Source,
    out: Target | None = None,
    *,
    artifacts: str | os.PathLike[str] | None = None,
    partial: bool = False,
    progress: bool = False,
) -> bytes | None:
    """Restore the text of a document, exact to the byte; returned if there is no `out`.

    Args:
        source: path of a document, its bytes, or a binary stream.
        out: path (written atomically) or binary stream.
        artifacts: folder of glyph tables and priors, else the user's cache.
        partial: write the best guess of pages that fail, and raise only then.
        progress: show a bar on a terminal's standard error when it takes over 2 s.

    Raises:
        PagesFailed: pages are damaged or did not decode. Without `partial` the path `out` stays as it was, and a stream
            ends before the first such page.
        VerificationError: the file is damaged elsewhere.
        VtcError: the file is foreign, or an artefact is missing or another one.
    """
    refuse_same_file(source, out)
    with opened(source, artifacts, check=not partial) as (document, codec, table):
        memory = io.BytesIO()
        failed: list[int] = []
        with open_target(memory if out is None else out) as stream:
            digest = hashlib.sha256()
            for page in bar(document.restore(codec, table), progress, total=len(document), unit="page"):
                if not page.exact:
                    failed.append(page.index)
                digest.update(page.text)
                if partial or not failed:
                    stream.write(page.text)
            if failed and not partial:
                raise _failure(document, failed, "did not decode")
            if not failed and digest.hexdigest() != document.header.sha256:
                raise VerificationError(f"{document.name}: its text has another SHA-256; compress the text again")
        if failed:
            raise _failure(document, failed, "did not come back", partial=True)
    return memory.getvalue() if out is None else None


def info(source: Source) -> dict[str, Any]:
    """What a document says about itself; nothing is decoded, and no artefact is needed.

    Returns:
        The keys of `record`.
    """
    with _document(source) as document:
        return record(document.header, document.size_bytes)


def record(header: Header, size: int) -> dict[str, Any]:
    """The facts of a document of `size` bytes, JSON-able.

    `latent_ratio` is tokens / latents (None without latents) and `byte_ratio` text bytes / document bytes. `density` is
    the one asked for: pages that needed a lower one have more latents. `exact` is True if all pages are known to
    come back, None if nobody looked when they were written.
    """
    return {
        "text_bytes": header.text_bytes,
        "text_tokens": header.text_tokens,
        "pages": header.pages,
        "latents": header.latents,
        "width": header.config.get("width", 1),
        "dtype": header.config.get("storage"),
        "codec": header.codec,
        "density": header.config.get("density", 1),
        "codebook": header.codebook,
        "latent_ratio": header.text_tokens / header.latents if header.latents else None,
        "byte_ratio": header.text_bytes / size,
        "exact": header.exact,
        "document_bytes": size,
        "llm": header.llm,
        "vocabulary_hash": header.vocabulary_hash,
        "table_hash": header.table_hash,
        "sha256": header.sha256,
        "config": header.config,
    }


@contextmanager
def opened(
    source: Source, artifacts: str | os.PathLike[str] | None = None, check: bool = True
) -> Iterator[tuple[Document, Codec, Any]]:
    """A document with the codec and the glyph table that decode it; with `check`, only if no stored page is damaged.

    Raises:
        PagesFailed: `check` found pages whose stored bytes do not match their checksum.
        VtcError: as `Document`, or the artefacts are missing or others.
    """
    with _document(source) as document:
        damaged = document.damaged() if check else []
        if damaged:
            raise _failure(document, damaged, "are damaged" if len(damaged) > 1 else "is damaged")
        with artifacts_at(artifacts):
            table = load_table(document.header.llm)
            document.check_table(table)
            codec = build_codec(document.header.codec, table, document.header.config)
        yield document, codec, table


def build_codec(name: str, table: Any, options: dict[str, Any]) -> Codec:
    """The codec of that name beside a glyph table.

    Raises:
        UsageError: an unknown name or option.
    """
    found = lookup(CODECS, name, "codec")
    known = [item.name for item in fields(found) if item.init and item.name != "table"]
    for option in options:
        if option not in known:
            raise UsageError(unknown(f"option of codec {name!r}", option, known))
    codec: Codec = found(table, **options)
    return codec


def load_vocabulary(llm: str) -> Any:
    """`vtc.llm.vocabulary.Vocabulary` of an LLM."""
    from vtc.llm.vocabulary import Vocabulary  # restoring does without the tokenizers library

    return Vocabulary.load(llm)


def load_table(llm: str) -> Any:
    """`vtc.glyphs.table.GlyphTable` of an LLM."""
    from vtc.glyphs.table import GlyphTable  # `info` does without it

    return GlyphTable.load(Path(llm).name if Path(llm).is_dir() else llm)


@contextmanager
def artifacts_at(folder: str | os.PathLike[str] | None) -> Iterator[None]:
    """Let every loader look for artefacts in `folder` inside the block (process-wide); None changes nothing.

    Raises:
        UsageError: there is no such folder.
    """
    if folder is None:
        yield
        return
    if not Path(folder).is_dir():
        raise UsageError(f"{folder}: no such folder of artefacts; check --artifacts")
    before = os.environ.get("VTC_ARTIFACTS")
    os.environ["VTC_ARTIFACTS"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["VTC_ARTIFACTS"]
        else:
            os.environ["VTC_ARTIFACTS"] = before


@contextmanager
def _document(source: Source) -> Iterator[Document]:
    """Open a document; what is not a path waits in a temporary file, for pages are read at random."""
    if isinstance(source, (str, os.PathLike)):
        with Document(source) as document:
            yield document
        return
    with tempfile.TemporaryDirectory(prefix="vtc-") as folder:
        path = Path(folder) / "input.vtc"
        with open_source(source) as reader, open_target(path) as stream:
            shutil.copyfileobj(reader, stream)
        with Document(path, name="the input") as document:
            yield document


def _failure(document: Document, failed: list[int], what: str, partial: bool = False) -> PagesFailed:
    mend = "the best guess was written" if partial else "or take the best guess with --partial"
    message = f"{document.name}: {name_pages(failed)} of {len(document)} {what}"
    return PagesFailed(f"{message}; fetch the file again or compress the text again, {mend}", failed)


def _groups(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    iterator = iter(items)
    while group := list(islice(iterator, size)):
        yield group
