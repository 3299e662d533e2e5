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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vtc.codecs.base import Codec
from vtc.document import (
    Document,
    PagesFailed,
    failure,
    is_document,
    new_header,
    open_document,
    record,
    write_document,
    write_pages,
)
from vtc.document.paging import PAGE_SYMBOLS
from vtc.readers.base import MAX_NEW_TOKENS, Page, Reader, check_question
from vtc.readers.source import decoded, plain
from vtc.readers.stored import Keeper, other_options, recall
from vtc.records.errors import UsageError, VerificationError, VtcError
from vtc.records.paths import artifacts_at
from vtc.records.progress import bar
from vtc.records.registry import CODECS, READERS, lookup
from vtc.records.streams import Source, Target, open_source, open_target, refuse_same_file
from vtc.records.suggest import unknown

if TYPE_CHECKING:
    from vtc.llm.frozen import FrozenLM

__all__ = [
    "CODECS",
    "DEFAULT_CODEC",
    "DEFAULT_LLM",
    "DEFAULT_READER",
    "PagesFailed",
    "artifacts_at",
    "ask",
    "build_codec",
    "build_reader",
    "compress",
    "info",
    "load_llm",
    "load_parts",
    "load_table",
    "load_vocabulary",
    "new_header",
    "opened",
    "prepare",
    "record",
    "restore",
    "write_pages",
]

DEFAULT_LLM = "smollm2-135m"
DEFAULT_CODEC = "hard"
DEFAULT_READER = "expand"
LATENTS = "float16"
"""Form in which a document holds a reader's latents, by default."""


def compress(
    source: Source,
    out: Target,
    *,
    codec: str = DEFAULT_CODEC,
    llm: str = DEFAULT_LLM,
    artifacts: str | os.PathLike[str] | None = None,
    page_symbols: int = PAGE_SYMBOLS,
    reader: str | None = None,
    latents: str = LATENTS,
    model: FrozenLM | None = None,
    progress: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Compress a text of any size and any bytes, in bounded memory, and return what `info` says about the result.

    Args:
        source: path, the bytes themselves, or a binary stream.
        out: path (written atomically) or binary stream.
        codec: name in `vtc.records.registry.CODECS`.
        llm: the frozen LLM whose tokens are the symbols: the default's name, a folder or a hub id.
        artifacts: folder of glyph tables and priors, else the user's cache.
        page_symbols: symbols of a page; a page is checked, decoded and read as one.
        reader: let the document also hold what this reader keeps of the text, so that asking reads it no more; the
            text's ids are then held in memory.
        latents: form in which it is held, see `vtc.readers.kv.storage`.
        model: the LLM that reads for `reader`, if it is loaded already.
        progress: show a bar on a terminal's standard error when it takes over 2 s.
        options: fields of the codec's dataclass, such as density or storage, and of the reader's, such as ratio.

    Raises:
        UsageError: an unknown codec, reader or option, or a value that they cannot serve.
        VtcError: a file cannot be read or written, or an artefact is missing.
    """
    refuse_same_file(source, out)
    asked = [item.name for item in fields(lookup(READERS, reader, "reader"))] if reader else []
    reading = {name: options.pop(name) for name in asked if name in options}
    with open_source(source, progress) as stream, artifacts_at(artifacts):
        vocabulary, table = load_parts(llm)
        coder = build_codec(codec, table, options)
        keeper = Keeper(build_reader(reader, model or load_llm(llm), reading), vocabulary, latents) if reader else None
        with write_document(out, new_header(codec, coder, vocabulary, table)) as document:
            write_pages(document, stream, vocabulary, coder, page_symbols, keeper.add if keeper else None)
            if keeper:
                keeper.attach(document, os.fspath(source) if isinstance(source, (str, os.PathLike)) else "the input")
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
                raise failure(document, failed, "did not decode")
            if not failed and digest.hexdigest() != document.header.sha256:
                raise VerificationError(f"{document.name}: its text has another SHA-256; compress the text again")
        if failed:
            raise failure(document, failed, "did not come back", partial=True)
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
    on_note: Callable[[str], None] | None = None,
    **reader_options: Any,
) -> dict[str, Any]:
    """Ask the frozen LLM a question about a text; for several questions `prepare` it once instead.

    `pages` is the most pages that the reader `expand` takes passages from. `prepare` explains the other arguments,
    `vtc.readers.base.Reader.ask` those of the question and what is returned; `record` has the facts of the document.
    """
    check_question(question)
    if pages is not None:
        reader_options["pages"] = pages
    prepared = prepare(
        source,
        reader=reader,
        llm=llm,
        artifacts=artifacts,
        model=model,
        progress=progress,
        on_note=on_note,
        **reader_options,
    )
    return prepared.ask(question, max_new_tokens=max_new_tokens, on_text=on_text)


def prepare(
    source: Source,
    *,
    reader: str = DEFAULT_READER,
    llm: str = DEFAULT_LLM,
    artifacts: str | os.PathLike[str] | None = None,
    model: FrozenLM | None = None,
    progress: bool = False,
    on_note: Callable[[str], None] | None = None,
    **reader_options: Any,
) -> Reader:
    """Decode a text once, page by page, so that any number of questions can be asked: `prepare(source).ask(question)`.

    A document that holds the reader's latents is not decoded; other options than theirs have them made anew.

    Args:
        source: a document, or a text of any bytes, which is read uncompressed (codec "none"): path, bytes or stream.
        reader: name in `vtc.records.registry.READERS`; `reader_options` are fields of its dataclass.
        llm: the LLM that reads, whichever the document names; ignored where it is given, loaded, as `model`.
        on_note: is called with a line where latents are made anew.

    Raises:
        UsageError: an unknown reader or option, an empty text, or one that the reader cannot read.
        PagesFailed: pages are damaged or did not decode.
        VerificationError: the latents are damaged.
        VtcError: a file cannot be read, the LLM or an artefact is missing, or another LLM made the latents.
    """
    if not isinstance(source, (str, os.PathLike, bytes)):
        with open_source(source) as stream:
            source = stream.read()
    name = "the input" if isinstance(source, bytes) else os.fspath(source)
    if not is_document(source):
        with open_source(source) as stream:
            text = stream.read()
        found = build_reader(reader, model or load_llm(llm), reader_options)
        header, cut = plain(text, found.llm)
        found.prepare(cut, record(header, max(len(text), 1)), name)
        return found
    with open_document(source) as document:
        held = document.header.memory
        if held is not None and held["reader"] == reader:
            others = other_options(held, reader_options)
            if not others:
                found = build_reader(reader, model or load_llm(llm), held["options"])
                recall(document, found, lambda: _pages(source, artifacts, found, progress))
                return found
            if on_note:
                on_note(f"{name}: holds latents of {others}; they are made anew from the text")
    with opened(source, artifacts) as (document, codec, table):
        found = build_reader(reader, model or load_llm(llm), reader_options)
        pages = _decoded(document, codec, table, found, progress)
        found.prepare(pages, record(document.header, document.size_bytes), name)
        return found


def info(source: Source) -> dict[str, Any]:
    """What a document says about itself; nothing is decoded, and no artefact is needed.

    Returns:
        The keys of `record`.
    """
    with open_document(source) as document:
        return record(document.header, document.size_bytes)


@contextmanager
def opened(
    source: Source, artifacts: str | os.PathLike[str] | None = None, check: bool = True
) -> Iterator[tuple[Document, Codec, Any]]:
    """A document with the codec and the glyph table that decode it; with `check`, only if no stored page is damaged.

    Raises:
        PagesFailed: `check` found pages whose stored bytes do not match their checksum.
        VtcError: as `Document`, or the artefacts are missing or others.
    """
    with open_document(source) as document:
        damaged = document.damaged() if check else []
        if damaged:
            raise failure(document, damaged, "are damaged" if len(damaged) > 1 else "is damaged")
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


def _build(registry: Mapping[str, str], kind: str, name: str, first: Any, options: dict[str, Any]) -> Any:
    """The dataclass registered as `name`, made of its first field and options for the others."""
    found = lookup(registry, name, kind)
    known = [item.name for item in fields(found) if item.init][1:]
    for option in options:
        if option not in known:
            raise UsageError(unknown(f"option of {kind} {name!r}", option, known))
    return found(first, **options)


def _pages(
    source: str | os.PathLike[str] | bytes, artifacts: str | os.PathLike[str] | None, reader: Reader, progress: bool
) -> Iterator[Page]:
    """Pages of a document that is opened now."""
    with opened(source, artifacts) as (document, codec, table):
        yield from _decoded(document, codec, table, reader, progress)


def _decoded(document: Document, codec: Codec, table: Any, reader: Reader, progress: bool) -> Iterator[Page]:
    """Pages of a document for a reader; those that did not decode are an error at the end."""
    failed: list[int] = []
    yield from decoded(document, codec, table, reader.llm.vocabulary, failed, progress)
    if failed:
        raise failure(document, failed, "did not decode")
