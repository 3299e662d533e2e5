"""A compressed text as an object: compress or open it once, then ask, restore and save it.

    import vtc
    doc = vtc.compress("report.txt", reader="kv", ratio=8)  # or with out="report.vtc"
    print(doc.ask("Who signed it?")["answer"])
    doc.save("report.vtc")
    doc = vtc.open("report.vtc")

The model and what its reader keeps are loaded at the first question and serve all that follow.
"""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from vtc import api
from vtc.readers.base import MAX_NEW_TOKENS, Reader, check_question
from vtc.records.streams import Source, Target, open_source, open_target, refuse_same_file

if TYPE_CHECKING:
    from vtc.llm.frozen import FrozenLM


class Compressed:
    """A document with the reader that answers questions about it; made by `compress` and `open_compressed`.

    Attributes:
        info: what `vtc.api.info` says about it.
        reader: name of the reader that is asked.
    """

    def __init__(
        self,
        document: str | os.PathLike[str] | bytes,
        *,
        reader: str | None = None,
        llm: str = api.DEFAULT_LLM,
        artifacts: str | os.PathLike[str] | None = None,
        model: FrozenLM | None = None,
        **reader_options: Any,
    ) -> None:
        """Look at a document; nothing is decoded and no model loaded yet.

        Args:
            document: path or bytes of a `.vtc` file.
            reader: by default the one whose latents the document holds, else "expand"; `reader_options` are its own.
            llm, artifacts, model: as `vtc.api.prepare`.

        Raises:
            VtcError: the file is missing, foreign or damaged.
        """
        self.info: dict[str, Any] = api.info(document)
        self.reader: str = reader or (self.info["memory"] or {}).get("reader", api.DEFAULT_READER)
        self._document = document
        self._artifacts = artifacts
        self._asking: dict[str, Any] = {"llm": llm, "artifacts": artifacts, "model": model, **reader_options}
        self._prepared: Reader | None = None

    def __repr__(self) -> str:
        name = "in memory" if isinstance(self._document, bytes) else os.fspath(self._document)
        return f"<{name}: {self.info['text_bytes']} bytes of text in {self.info['document_bytes']}>"

    def ask(
        self, question: str, *, max_new_tokens: int = MAX_NEW_TOKENS, on_text: Callable[[str], None] | None = None
    ) -> dict[str, Any]:
        """Ask the frozen LLM: the record that `vtc.readers.base.Reader.ask` describes, with the text under `answer`.

        Raises:
            VtcError: as `vtc.api.prepare` and `Reader.ask`.
        """
        check_question(question)
        if self._prepared is None:
            self._prepared = api.prepare(self._document, reader=self.reader, **self._asking)
        return self._prepared.ask(question, max_new_tokens=max_new_tokens, on_text=on_text)

    def restore(self) -> bytes:
        """The text, exact to the byte.

        Raises:
            VtcError: as `vtc.api.restore`.
        """
        text = api.restore(self._document, artifacts=self._artifacts)
        assert text is not None  # no target was named
        return text

    def save(self, out: Target) -> None:
        """Write the document to a path (atomically) or a binary stream.

        Raises:
            UsageError: it is the document's own path.
            VtcError: the place cannot be written.
        """
        refuse_same_file(self._document, out)
        with open_source(self._document) as source, open_target(out) as target:
            shutil.copyfileobj(source, target)


def compress(
    source: Source,
    *,
    out: str | os.PathLike[str] | None = None,
    reader: str | None = None,
    llm: str = api.DEFAULT_LLM,
    artifacts: str | os.PathLike[str] | None = None,
    model: FrozenLM | None = None,
    **options: Any,
) -> Compressed:
    """Compress a text into a document, kept in memory unless `out` names a file.

    Args:
        source: path, the bytes themselves, or a binary stream.
        reader: let the document also hold what this reader, "kv", keeps of the text.
        options: as `vtc.api.compress`: `latents`, and fields of the codec's and the reader's dataclass.

    Raises:
        VtcError: as `vtc.api.compress`.
    """
    if reader and model is None:
        model = api.load_llm(llm)  # which then also answers
    memory = io.BytesIO()
    places: dict[str, Any] = {"llm": llm, "artifacts": artifacts, "model": model}
    api.compress(source, memory if out is None else out, reader=reader, **places, **options)
    return Compressed(memory.getvalue() if out is None else out, reader=reader, **places)


def open_compressed(document: Source, **options: Any) -> Compressed:
    """Open a document: a path, its bytes, or a binary stream; options as `Compressed`.

    Raises:
        VtcError: it is missing, foreign or damaged.
    """
    if isinstance(document, (str, os.PathLike, bytes)):
        return Compressed(document, **options)
    with open_source(document) as stream:
        return Compressed(stream.read(), **options)
