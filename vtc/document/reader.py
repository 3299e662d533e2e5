"""Reading a document page by page. Nothing is decoded before its stored bytes match their checksum."""

from __future__ import annotations

import os
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from safetensors import SafetensorError, safe_open

from vtc.codecs.base import Codec, CodedPage, page_checksum
from vtc.document.header import COLUMNS, header_from, unpack_index
from vtc.document.paging import PageTable, page_text
from vtc.records.artefact import explain
from vtc.records.errors import VerificationError, VtcError
from vtc.records.streams import Source, open_source, open_target

BATCH = 32
"""Pages decoded together."""


class Hashed(Protocol):
    """A glyph table as far as a document asks: whether it is the one the symbols were folded with."""

    hash: str
    vocabulary_hash: str


@dataclass(frozen=True)
class StoredPage:
    """One page as read from the file."""

    coded: CodedPage
    text_bytes: int
    """Length of the page's text."""
    patch: bytes
    intact: bool
    """Whether the stored bytes match their checksum."""


@dataclass(frozen=True)
class RestoredPage:
    """One page after decoding."""

    index: int
    """Counted from 0."""
    ids: np.ndarray
    """int32 [symbols]"""
    text: bytes
    """The original bytes if `exact`, else the best guess."""
    exact: bool


class Document:
    """A `.vtc` file opened for reading; a context manager. `header` and the page index are in memory, pages are not.

    Raises:
        VtcError: missing, foreign, or written by a newer program.
        VerificationError: truncated or damaged.
    """

    def __init__(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        self.path = Path(path)
        self.name = name or str(path)
        """What messages call the file."""
        self._archive = _open(self.path, self.name)
        try:
            self.header = header_from(self._archive.metadata() or {}, self.name)
            self.size_bytes = self.path.stat().st_size
            self._shapes = self._check_tensors()
            self._rows = self._read_index()
        except BaseException:
            self.close()
            raise
        starts = np.zeros((len(self._rows) + 1, len(COLUMNS)), np.int64)
        np.cumsum(self._rows, axis=0, out=starts[1:])
        self._starts = {name: starts[:, i] for i, name in enumerate(COLUMNS)}

    def close(self) -> None:
        """Give the file back."""
        self._archive.__exit__(None, None, None)

    def __enter__(self) -> Document:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[StoredPage]:
        return (self.page(i) for i in range(len(self)))

    @property
    def text_spans(self) -> np.ndarray:
        """int64 [pages + 1]: page i stands for the bytes from entry i to entry i + 1 of the text."""
        return self._starts["text_bytes"]

    def page(self, index: int) -> StoredPage:
        """Page `index`, counted from 0, read from the file now."""
        row = dict(zip(COLUMNS, self._rows[index].tolist(), strict=True))
        latents, side, patch = (self._slice(name, index) for name in ("latents", "side", "patch"))
        crc = 0
        for part in (latents, side, patch):
            crc = zlib.crc32(part.tobytes(), crc)
        coded = CodedPage(row["symbols"], row["checksum"], latents, side.tobytes())
        return StoredPage(coded, row["text_bytes"], patch.tobytes(), intact=crc == row["crc"])

    def damaged(self) -> list[int]:
        """Pages whose stored bytes do not match their checksum; reads the whole file once, decodes nothing."""
        return [i for i, page in enumerate(self) if not page.intact]

    def memory(self) -> bytes:
        """What a reader attached; `header.memory` says what it is.

        Raises:
            VtcError: the document has none.
            VerificationError: its bytes do not match their checksum; the pages are not concerned.
        """
        if self.header.memory is None or "memory" not in self._shapes:
            raise VtcError(f"{self.name}: holds no reader's latents; compress the text with --reader kv")
        blob: bytes = self._archive.get_tensor("memory").tobytes()
        if f"{zlib.crc32(blob):08x}" != self.header.memory["crc32"]:
            raise VerificationError(
                f"{self.name}: its latents for reader {self.header.memory.get('reader')!r} are damaged, though its "
                "pages may be intact; fetch the file again, compress the text again, or ask with another --reader"
            )
        return blob

    def restore(
        self, codec: Codec, table: PageTable, indices: Iterable[int] | None = None, batch: int = BATCH
    ) -> Iterator[RestoredPage]:
        """Decode pages (all by default, in order), `batch` at a time. A page that fails comes back as a best guess."""
        wanted = list(range(len(self)) if indices is None else indices)
        for first in range(0, len(wanted), batch):
            group = wanted[first : first + batch]
            stored = [self.page(i) for i in group]
            intact = [page.coded for page in stored if page.intact]
            decoded = iter(codec.decode(intact) if intact else [])
            for i, page in zip(group, stored, strict=True):
                if page.intact:
                    ids = next(decoded).ids
                    text = page_text(table, ids, page.text_bytes, page.patch)
                    exact = page_checksum(ids) == page.coded.checksum and len(text) == page.text_bytes
                    yield RestoredPage(i, ids, text, exact)
                else:
                    yield _guess(i, page, codec, table)

    def check_table(self, table: Hashed) -> None:
        """Refuse a glyph table or a vocabulary other than the one that the document was written with.

        Raises:
            VtcError: naming what differs.
        """
        for what, wanted, found in (
            ("vocabulary", self.header.vocabulary_hash, table.vocabulary_hash),
            ("glyph table", self.header.table_hash, table.hash),
        ):
            if wanted != found:
                raise VtcError(
                    f"{self.name}: was written with the {what} {wanted[:12]} of '{self.header.llm}' and this one is "
                    f"{found[:12]}; name the folder of the right one with --artifacts, or compress the text again"
                )

    def _slice(self, name: str, index: int) -> np.ndarray:
        start, stop = self._starts[name][index : index + 2]
        if start == stop:
            return np.zeros((0, self.header.latent_bytes) if name == "latents" else 0, np.uint8)
        return self._archive.get_slice(name)[int(start) : int(stop)]

    def _check_tensors(self) -> dict[str, list[int]]:
        header = self.header
        wanted = {"latents": [header.latents, header.latent_bytes], **{k: [n] for k, n in header.tensors.items()}}
        wanted = {name: shape for name, shape in wanted.items() if all(shape)}
        found = {}
        for name in self._archive.keys():  # noqa: SIM118  an archive is not a dict
            part = self._archive.get_slice(name)
            found[name] = part.get_shape() if part.get_dtype() == "U8" else None
        if found != wanted:
            raise VerificationError(f"{self.name}: its tensors are not those of its header; fetch the file again")
        return wanted

    def _read_index(self) -> np.ndarray:
        """int64 [pages, columns], checked against the header's checksum and totals."""
        header = self.header
        if "index" not in self._shapes:
            rows = np.zeros((0, len(COLUMNS)), np.int64)
        else:
            blob = self._archive.get_tensor("index").tobytes()
            if zlib.crc32(blob) != header.index_crc32:
                raise VerificationError(
                    f"{self.name}: its page index is damaged; fetch the file again or compress the text again"
                )
            try:
                rows = unpack_index(blob, header.pages)
            except ValueError as error:
                raise VerificationError(f"{self.name}: {error}; compress the text again") from error
        total = dict(zip(COLUMNS, rows.sum(axis=0).tolist(), strict=True))
        promised = (header.text_bytes, header.text_tokens, header.latents, header.pages)
        parts = (header.tensors.get("side", 0), header.tensors.get("patch", 0))
        found = (total["text_bytes"], total["symbols"], total["latents"], len(rows))
        if promised != found or parts != (total["side"], total["patch"]):
            raise VerificationError(f"{self.name}: its page index contradicts its header; compress the text again")
        return rows


def _guess(index: int, page: StoredPage, codec: Codec, table: PageTable) -> RestoredPage:
    """Best guess for a page whose stored bytes are damaged: whatever still decodes, else question marks."""
    try:
        ids = codec.decode([page.coded])[0].ids
        text = page_text(table, ids, page.text_bytes, page.patch)
    except Exception:  # damaged side bytes may fail anywhere in a codec; the damage is reported either way
        ids, text = np.zeros(0, np.int32), b"?" * page.text_bytes
    return RestoredPage(index, ids, text, exact=False)


def name_pages(indices: list[int]) -> str:
    """Page indices counted from 0, for people: `page 4` or `pages 1-3, 7` counted from 1, at most eight runs."""
    runs: list[list[int]] = []
    for number in sorted(i + 1 for i in indices):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    text = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs[:8])
    return ("page " if len(indices) == 1 else "pages ") + text + (", .." if len(runs) > 8 else "")


def is_document(source: str | os.PathLike[str] | bytes) -> bool:
    """Whether a file, or its bytes, are meant as a document: by the name, or because they begin as one.

    Raises:
        VtcError: it cannot be read.
    """
    named = False
    if isinstance(source, bytes):
        start = source[:64]
    else:
        named = Path(source).suffix == ".vtc"
        try:
            with open(source, "rb") as stream:
                start = stream.read(64)
        except OSError as error:
            raise VtcError(explain(error, os.fspath(source))) from error
    return named or start[8:].startswith(b'{"__metadata__":{"vtc"')


@contextmanager
def open_document(source: Source) -> Iterator[Document]:
    """Open a document; what is not a path waits in a temporary file, for pages are read at random.

    Raises:
        VtcError: as `Document`.
    """
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


def _open(path: Path, name: str) -> Any:
    try:
        with open(path, "rb") as stream:
            start = stream.read(64)
        return safe_open(path, framework="numpy").__enter__()
    except OSError as error:
        raise VtcError(explain(error, name)) from error
    except SafetensorError as error:
        if b"__metadata__" in start or b'"vtc"' in start:
            raise VerificationError(
                f"{name}: is truncated or damaged ({error}); fetch the file again or compress the text again"
            ) from error
        raise VtcError(f"{name}: is not a vtc document; name a file made by 'vtc compress'") from error
