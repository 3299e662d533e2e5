"""Bytes <-> pages of symbols, exactly, for any bytes and any tokenizer, streaming and in linear time.

The source is cut into chunks at line ends, decoded as UTF-8 (what is not becomes U+FFFD) and tokenised. Where the
tokens' own bytes are the chunk, the position of every token in the source is known. Where they are not (invalid UTF-8,
a tokenizer that normalises or lacks a byte) the chunk is cut into small pieces, so that the rest of it is spared, and
the tokens of a piece that still differs are placed in proportion. A page whose symbols do not give its bytes carries a
patch: those bytes compressed with zstd, with the symbols' bytes as dictionary. That the two are equal is never assumed,
always compared.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import zstandard

from vtc.records.errors import UsageError

PAGE_SYMBOLS = 1024
LARGEST_PAGE = 1 << 16
CHUNK_BYTES = 256 << 10
PIECE_BYTES = 2 << 10
PATCH_LEVEL = 9
"""zstd level of patches; higher ones gain nothing on a few kilobytes."""


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes, b"" at the end."""
        ...


class PageTable(Protocol):
    """What turns symbols into bytes: a glyph table or a vocabulary."""

    def decode(self, ids: np.ndarray) -> bytes:
        """Bytes of all ids, one after the other."""
        ...


class Tokenizer(PageTable, Protocol):
    """A vocabulary as far as paging asks."""

    token_bytes: list[bytes]

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        """int32 [n] each"""
        ...


@dataclass(frozen=True)
class TextPage:
    """One page before coding."""

    ids: np.ndarray
    """int32 [symbols], at least one."""
    text: bytes
    """The original bytes that they stand for."""
    patch: bytes
    """Empty where the symbols' bytes are `text`."""


def iter_pages(stream: Readable, vocabulary: Tokenizer, page_symbols: int = PAGE_SYMBOLS) -> Iterator[TextPage]:
    """Cut a byte stream into pages of `page_symbols` symbols (the last one shorter), keeping about one chunk in memory.

    Raises:
        UsageError: an impossible page size.
    """
    if not 1 <= page_symbols <= LARGEST_PAGE:
        raise UsageError(f"--page-symbols {page_symbols}: must be from 1 to {LARGEST_PAGE}")
    lengths = np.array([len(token) for token in vocabulary.token_bytes], np.int64)  # [V] bytes
    ids, ends, text = np.zeros(0, np.int32), np.zeros(0, np.int64), b""
    for chunk in iter_chunks(stream):
        parts = _tokens_of(chunk, vocabulary, lengths)
        ids = np.concatenate([ids, *(part for part, _ in parts)])
        ends = np.concatenate([ends, *(lasts + len(text) for _, lasts in parts)])
        text += chunk
        full = len(ids) // page_symbols * page_symbols
        yield from _cut_pages(ids[:full], ends[:full], text, page_symbols, vocabulary)
        used = int(ends[full - 1]) if full else 0
        ids, ends, text = ids[full:], ends[full:] - used, text[used:]
    yield from _cut_pages(ids, ends, text, page_symbols, vocabulary)


def iter_chunks(stream: Readable, size: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Pieces of at most `size` bytes: to the last line end in the second half, else to before the last space there,
    else to the last whole UTF-8 sequence."""
    held = b""
    while True:
        while len(held) < size and (more := stream.read(size - len(held))):
            held += more
        if len(held) < size:
            break
        cut = _cut(held)
        yield held[:cut]
        held = held[cut:]
    if held:
        yield held


def page_text(table: PageTable, ids: np.ndarray, text_bytes: int, patch: bytes) -> bytes:
    """The original bytes of a page from its symbols and its patch; a patch that does not fit them is left out."""
    plain = table.decode(ids)
    if not patch:
        return plain
    try:
        decompressor = zstandard.ZstdDecompressor(dict_data=_dictionary(plain))
        return decompressor.decompress(patch, max_output_size=max(text_bytes, 1))  # 0 would mean a size in the frame
    except zstandard.ZstdError:
        return plain


def _cut(window: bytes) -> int:
    """Where to cut a full window: a position from 1 to its length."""
    half = len(window) // 2
    line = window.rfind(b"\n", half)
    if line >= 0:
        return line + 1
    space = window.rfind(b" ", half)
    if space > 0:
        return space  # tokens begin with their space, so it goes to the next chunk
    cut = len(window)
    while cut > max(1, len(window) - 3) and window[cut - 1] & 0xC0 == 0x80:
        cut -= 1
    # A lead byte there may belong to a sequence that goes on beyond the window: leave it for the next one.
    return cut - 1 if cut > 1 and window[cut - 1] >= 0xC0 else len(window)


def _tokens_of(chunk: bytes, vocabulary: Tokenizer, lengths: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Ids int32 [n] and where the bytes of each end in the chunk, int64 [n]; in one part or, if need be, in several."""
    ids = _encode([chunk], vocabulary)[0]
    ends = np.cumsum(lengths[ids])
    if len(ids) and ends[-1] == len(chunk) and vocabulary.decode(ids) == chunk:
        return [(ids, ends)]
    pieces = list(iter_chunks(io.BytesIO(chunk), PIECE_BYTES))
    parts, start = [], 0
    for piece, ids in zip(pieces, _encode(pieces, vocabulary), strict=True):
        if not len(ids):
            ids = np.zeros(1, np.int32)  # a tokenizer may drop everything; some symbol has to carry the patch
        ends = np.cumsum(lengths[ids])
        if ends[-1] != len(piece) or vocabulary.decode(ids) != piece:
            ends = ends * len(piece) // ends[-1] if ends[-1] else np.full(len(ids), len(piece), np.int64)
        parts.append((ids, ends + start))
        start += len(piece)
    return parts


def _encode(texts: list[bytes], vocabulary: Tokenizer) -> list[np.ndarray]:
    return vocabulary.encode_batch([text.decode("utf-8", errors="replace") for text in texts])


def _cut_pages(ids: np.ndarray, ends: np.ndarray, text: bytes, size: int, vocabulary: Tokenizer) -> Iterator[TextPage]:
    start = 0
    for first in range(0, len(ids), size):
        page = ids[first : first + size]
        stop = int(ends[first + len(page) - 1])
        original = text[start:stop]
        plain = vocabulary.decode(page)
        yield TextPage(page, original, b"" if plain == original else _patch(plain, original))
        start = stop


def _patch(plain: bytes, original: bytes) -> bytes:
    compressor = zstandard.ZstdCompressor(level=PATCH_LEVEL, dict_data=_dictionary(plain), write_content_size=False)
    return compressor.compress(original)


def _dictionary(data: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(data, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
