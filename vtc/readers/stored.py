"""What a reader keeps of a text, held by the document itself, so that asking again neither decodes nor reads it.

`Header.memory` of such a document says which reader made it with which options (`reader`, `options`, `form`), which
model (`llm` and the `fingerprint` of its weights), after which ids (`opening`, their hash), how many tokens became how
many entries (`text_tokens`, `positions`, `position_ratio`), and which bytes of the text were read (`spans`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from vtc.document import Document, DocumentWriter, record
from vtc.document.paging import TextPage
from vtc.metrics import position_ratio
from vtc.readers.base import Page, Reader
from vtc.readers.memory import Memory, MemoryReader, check_form, key_of
from vtc.records.errors import UsageError, VtcError

if TYPE_CHECKING:
    from vtc.llm.frozen import FrozenLM
    from vtc.llm.vocabulary import Vocabulary


class Keeper:
    """Collects the pages of a document that is being written, and attaches what a reader keeps of them."""

    def __init__(self, reader: Reader, words: Vocabulary, form: str) -> None:
        """
        Args:
            words: what the pages' ids are of.
            form: of the latents, as the reader's `packed` knows it.

        Raises:
            UsageError: the reader picks what it reads by a question, or the form is unknown.
        """
        if not isinstance(reader, MemoryReader):
            raise UsageError(f"reader {reader.name!r} keeps nothing that a document can hold; use --reader kv")
        check_form(form)
        self._reader, self._form = reader, form
        self._same = reader.llm.vocabulary.hash == words.hash
        self._pages: list[Page] = []
        self._bytes = self._tokens = 0

    def add(self, page: TextPage) -> None:
        """The next page.

        Raises:
            UsageError: the text is too long for the reader.
        """
        ids = page.ids if self._same else self._reader.llm.vocabulary.encode(page.text.decode(errors="replace"))
        self._pages.append(Page(page.text, ids))
        self._bytes += len(page.text)
        self._tokens += len(ids)
        self._reader.admit(self._tokens)  # before the rest is folded for nothing

    def attach(self, document: DocumentWriter, title: str) -> None:
        """Read all pages, and let the document hold what is kept.

        Raises:
            UsageError: there is no text, or it is too long for the reader, or a number is beyond the form's range.
        """
        reader = self._reader
        reader.prepare(self._pages, {"text_bytes": self._bytes}, title)
        opening = reader.around("")[0]
        memory = reader.memory(opening)
        about = {
            "reader": reader.name,
            "options": options_of(reader),
            "form": self._form,
            "llm": reader.llm.name,
            "fingerprint": reader.llm.identity,
            "opening": key_of(opening),
            "text_tokens": reader.text_tokens,
            "positions": memory.positions,
            "position_ratio": position_ratio(reader.text_tokens, memory.positions),
            "spans": [list(span) for span in memory.spans],
        }
        document.attach(about, reader.packed(memory, self._form))


def recall(document: Document, reader: Reader, pages: Callable[[], Iterator[Page]]) -> None:
    """Give a reader what the document holds for it.

    Args:
        pages: gives the document's pages, should the reader have to read them after all.

    Raises:
        VerificationError: the latents are damaged.
        VtcError: another model made them.
    """
    start = time.perf_counter()
    held = document.header.memory
    if held is None or not isinstance(reader, MemoryReader):
        raise VtcError(f"{document.name}: holds no latents for reader {reader.name!r}; compress the text with them")
    check_model(document.name, held, reader.llm)
    blob = document.memory()
    try:
        cache = reader.unpacked(blob)
    except VtcError as error:
        raise VtcError(f"{document.name}: {error}") from error
    memory = Memory(cache, held["positions"], [(a, b) for a, b in held["spans"]])
    about = record(document.header, document.size_bytes)
    facts: dict[str, Any] = {"tokens": held["text_tokens"], "ends": document.text_spans[1:], "about": about}
    reader.recall(memory, held["opening"], pages, **facts, title=document.name)
    reader.prepare_seconds = time.perf_counter() - start


def check_model(name: str, held: dict[str, Any], llm: FrozenLM) -> None:
    """Refuse latents of another model: its keys and values mean nothing to this one.

    Raises:
        VtcError: naming both.
    """
    found = llm.identity
    if found != held["fingerprint"]:
        raise VtcError(
            f"{name}: its latents were made with {held['llm']!r} ({held['fingerprint'][:12]}) and this model is "
            f"{llm.name!r} ({found[:12]}); name that model with --llm, or compress the text again with this one"
        )


def other_options(held: dict[str, Any], asked: dict[str, Any]) -> str:
    """Which options were asked for and are not those of the latents, in words; empty where they serve."""
    others = [name for name, value in asked.items() if held["options"].get(name) != value]
    stored = ", ".join(f"{name} {held['options'].get(name)}" for name in others)
    return f"{stored}, not {', '.join(str(asked[name]) for name in others)}" if others else ""


def options_of(reader: Reader) -> dict[str, Any]:
    """What a reader was made with beside its LLM."""
    return {item.name: getattr(reader, item.name) for item in fields(reader) if item.init and item.name != "llm"}
