"""Compress a text into a document, restore it, ask it, say what it holds: the one place that puts the parts together.

    import vtc.api
    record = vtc.api.compress("report.txt", "report.vtc")
    text = vtc.api.restore("report.vtc")
    answer = vtc.api.ask("report.vtc", "Who signed it?")["answer"]

Symbols become bytes by the glyph table alone, so restoring needs neither the LLM nor its tokenizer.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from vtc.codecs.base import Codec
from vtc.document import Document, DocumentWriter, Header, is_document, name_pages, write_document
from vtc.document.paging import PAGE_SYMBOLS, Readable, iter_pages
from vtc.document.reader import BATCH
from vtc.readers.base import MAX_NEW_TOKENS, Reader, check_question
from vtc.readers.source import decoded, plain
from vtc.records.errors import UsageError, VerificationError, VtcError
from vtc.records.progress import bar
from vtc.records.registry import CODECS, READERS, lookup
from vtc.records.streams import Source, Target, open_source, open_target, refuse_same_file
from vtc.records.suggest import unknown

if TYPE_CHECKING:
    from vtc.llm.frozen import FrozenLM

DEFAULT_LLM = "smollm2-135m"
DEFAULT_CODEC = "hard"
DEFAULT_READER = "expand"

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
        vocabulary, table = load_parts(llm)
        coder = build_codec(codec, table, codec_options)
        with write_document(out, new_header(codec, coder, vocabulary, table)) as document:
            write_pages(document, stream, vocabulary, coder, page_symbols)
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


def ask(
    source: Source,
    question: str,
    *,
    reader: str = DEFAULT_READER,
    llm: str = DEFAULT_LLM,
    artifacts: str | os.PathLike[str] | None = None,
    pages: int | None = None,
    max_new_tokens: int = MAX_NEW_TOKENS,
    on_text: Callable[[str], None] | None = None,
    model: FrozenLM | None = None,
    progress: bool = False,
    **reader_options: Any,
) -> dict[str, Any]:
    """Ask the frozen LLM a question about a text; for several questions `prepare` it once instead.

    `pages` is the most pages that the reader `expand` takes passages from. `prepare` explains the other arguments,
    `vtc.readers.base.Reader.ask` those of the question and what is returned; `record` has the facts of the document.
    """
    check_question(question)
    if pages is not None:
        reader_options["pages"] = pages
    options = {"llm": llm, "artifacts": artifacts, "model": model, "progress": progress, **reader_options}
    return prepare(source, reader=reader, **options).ask(question, max_new_tokens=max_new_tokens, on_text=on_text)


def prepare(
    source: Source,
    *,
    reader: str = DEFAULT_READER,
    llm: str = DEFAULT_LLM,
    artifacts: str | os.PathLike[str] | None = None,
    model: FrozenLM | None = None,
    progress: bool = False,
    **reader_options: Any,
) -> Reader:
    """Decode a text once, page by page, so that any number of questions can be asked: `prepare(source).ask(question)`.

    Args:
        source: a document, or a text of any bytes, which is read uncompressed (codec "none"): path, bytes or stream.
        reader: name in `vtc.records.registry.READERS`; `reader_options` are fields of its dataclass.
        llm: the LLM that reads, whichever the document names; ignored where it is given, loaded, as `model`.

    Raises:
        UsageError: an unknown reader or option, an empty text, or one that the reader cannot read.
        PagesFailed: pages are damaged or did not decode.
        VtcError: a file cannot be read, or the LLM or an artefact is missing.
    """
    if not isinstance(source, (str, os.PathLike, bytes)):
        with open_source(source) as stream:
            source = stream.read()
    name = "the input" if isinstance(source, bytes) else os.fspath(source)
    if is_document(source):
        with opened(source, artifacts) as (document, codec, table):
            found = build_reader(reader, model or load_llm(llm), reader_options)
            failed: list[int] = []
            pages = decoded(document, codec, table, found.llm.vocabulary, failed, progress)
            found.prepare(pages, record(document.header, document.size_bytes), name)
            if failed:
                raise _failure(document, failed, "did not decode")
            return found
    with open_source(source) as stream:
        text = stream.read()
    found = build_reader(reader, model or load_llm(llm), reader_options)
    header, cut = plain(text, found.llm)
    found.prepare(cut, record(header, max(len(text), 1)), name)
    return found


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
    codec: Codec = _build(CODECS, "codec", name, table, options)
    return codec


def build_reader(name: str, model: FrozenLM, options: dict[str, Any]) -> Reader:
    """The reader of that name for a frozen LLM.

    Raises:
        UsageError: an unknown name or option.
    """
    reader: Reader = _build(READERS, "reader", name, model, options)
    return reader


def load_parts(llm: str) -> tuple[Any, Any]:
    """`Vocabulary` and `GlyphTable` of an LLM, which belong together.

    Raises:
        VtcError: the table was built for another vocabulary.
    """
    vocabulary, table = load_vocabulary(llm), load_table(llm)
    if vocabulary.hash != table.vocabulary_hash:
        raise VtcError(
            f"glyph table of {vocabulary.name!r}: was built for the vocabulary {table.vocabulary_hash[:12]} and "
            f"this one is {vocabulary.hash[:12]}; build it again: python -m codebooks.table"
        )
    return vocabulary, table


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
    document: DocumentWriter, stream: Readable, vocabulary: Any, coder: Codec, page_symbols: int = PAGE_SYMBOLS
) -> None:
    """Cut a text into pages, fold them and add them to a document, in bounded memory."""
    for group in _groups(iter_pages(stream, vocabulary, page_symbols), BATCH):
        for page, coded in zip(group, coder.encode([page.ids for page in group]), strict=True):
            document.add(coded, page.text, page.patch)


def load_vocabulary(llm: str) -> Any:
    """`vtc.llm.vocabulary.Vocabulary` of an LLM."""
    from vtc.llm.vocabulary import Vocabulary  # restoring does without the tokenizers library

    return Vocabulary.load(llm)


def load_table(llm: str) -> Any:
    """`vtc.glyphs.table.GlyphTable` of an LLM."""
    from vtc.glyphs.table import GlyphTable  # `info` does without it

    return GlyphTable.load(Path(llm).name if Path(llm).is_dir() else llm)


def load_llm(llm: str) -> FrozenLM:
    """`vtc.llm.frozen.FrozenLM` of an LLM."""
    from vtc.llm.frozen import FrozenLM  # only asking needs torch and transformers

    return FrozenLM.load(llm)


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


def _build(registry: Mapping[str, str], kind: str, name: str, first: Any, options: dict[str, Any]) -> Any:
    """The dataclass registered as `name`, made of its first field and options for the others."""
    found = lookup(registry, name, kind)
    known = [item.name for item in fields(found) if item.init][1:]
    for option in options:
        if option not in known:
            raise UsageError(unknown(f"option of {kind} {name!r}", option, known))
    return found(first, **options)


def _failure(document: Document, failed: list[int], what: str, partial: bool = False) -> PagesFailed:
    mend = "the best guess was written" if partial else "or take the best guess with 'vtc restore --partial'"
    message = f"{document.name}: {name_pages(failed)} of {len(document)} {what}"
    return PagesFailed(f"{message}; fetch the file again or compress the text again, {mend}", failed)


def _groups(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    iterator = iter(items)
    while group := list(islice(iterator, size)):
        yield group
