"""One trial: a text folded into a document and restored from it, on the clock, both texts kept for comparison."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vtc import api
from vtc.codecs.base import Codec
from vtc.document import Document, write_document


@dataclass(frozen=True)
class Parts:
    """What all trials with one LLM share."""

    vocabulary: Any
    table: Any
    page_symbols: int


@dataclass(frozen=True)
class Trial:
    """What one document took, holds and gave back."""

    facts: dict[str, Any]
    """As `vtc.api.record`."""
    latent_bytes: int
    """Stored bytes of all latents."""
    encode_seconds: float | None
    """From the text to the finished document, tokenising included; None for a document made before."""
    restore_seconds: float
    """From the document to the text."""
    originals: list[bytes] | None
    """Text of each page; None where nobody has it."""
    restored: list[bytes]
    """What came back for each page."""
    ids: np.ndarray
    """int32 [tokens] as restored."""
    exact: list[bool]
    """Whether each page came back as it was: compared with the original, or by its checksum where there is none."""


def fold(text: bytes, path: Path, name: str, coder: Codec, parts: Parts) -> Trial:
    """Compress a text with the codec `coder`, registered as `name`, into the file `path`, and restore it."""
    start = time.perf_counter()
    with write_document(path, api.new_header(name, coder, parts.vocabulary, parts.table)) as writer:
        api.write_pages(writer, io.BytesIO(text), parts.vocabulary, coder, parts.page_symbols)
    encode_seconds = time.perf_counter() - start
    with Document(path) as document:
        return unfold(document, coder, parts.table, text, encode_seconds)


def unfold(
    document: Document,
    coder: Codec,
    table: Any,
    text: bytes | None = None,
    encode_seconds: float | None = None,
) -> Trial:
    """Restore a document, and compare it with the text where that is known."""
    if text is None:
        list(document.restore(coder, table, [0]))  # off the clock: a text had its warm-up
    start = time.perf_counter()
    pages = list(document.restore(coder, table))
    restore_seconds = time.perf_counter() - start
    restored, exact, originals = [page.text for page in pages], [page.exact for page in pages], None
    if text is not None:
        spans = document.text_spans.tolist()
        originals = [text[low:high] for low, high in zip(spans, spans[1:], strict=False)]
        exact = [before == after for before, after in zip(originals, restored, strict=True)]
    elif all(exact):
        originals = restored  # each page agrees with its checksum
    return Trial(
        facts=api.record(document.header, document.size_bytes),
        latent_bytes=document.header.latents * document.header.latent_bytes,
        encode_seconds=encode_seconds,
        restore_seconds=restore_seconds,
        originals=originals,
        restored=restored,
        ids=np.concatenate([np.zeros(0, np.int32), *(page.ids for page in pages)]),
        exact=exact,
    )
