"""The header and the page index of a document.

The file is plain safetensors: an 8-byte length, a JSON object, raw bytes. The object's metadata holds the header as
JSON under `vtc` and its CRC-32 under `crc32`, so that a flipped bit is noticed there too. The tensors, all uint8, are

    latents [latents, latent_bytes]   all pages, one after the other
    side    [bytes]                   what the codec adds to each page
    patch   [bytes]                   corrections of pages whose symbols alone do not give the original bytes
    index   [bytes]                   one row of `COLUMNS` per page, as byte planes, compressed with zstd
    memory  [bytes]                   what a reader keeps of the text, if that was attached

and one that would be empty is left out. A memory is no part of the text: pages are read without it, and where it is
damaged nothing else is. Only a document that has one is of format 2.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
import zstandard

from vtc.records.artefact import HEADER
from vtc.records.errors import VerificationError, VtcError

KIND = "document"
VERSION, WITH_MEMORY = 1, 2
"""Formats without and with a memory."""
CRC = "crc32"
"""Metadata key of the header's checksum."""

COLUMNS = ("symbols", "checksum", "crc", "text_bytes", "latents", "side", "patch")
"""Per page: symbols; `page_checksum` of the ids; CRC-32 of the stored bytes (latents, side, patch in this order);
bytes of text; latents; bytes of side; bytes of patch."""


@dataclass(frozen=True)
class Header:
    """What a document says about itself. Hashes are hexadecimal."""

    codec: str
    """Name in `vtc.records.registry`."""
    config: dict[str, Any]
    """Keyword arguments that rebuild the codec beside the glyph table."""
    llm: str
    """The frozen LLM whose tokenizer made the symbols; it also names the glyph table."""
    vocabulary_hash: str
    table_hash: str
    latent_bytes: int
    """Stored bytes of one latent."""
    codebook: str | None = None
    exact: bool | None = None
    """True where every page is known to come back, None where nobody looked when it was written."""
    text_bytes: int = 0
    text_tokens: int = 0
    latents: int = 0
    pages: int = 0
    sha256: str = ""
    """Of the whole text."""
    index_crc32: int = 0
    tensors: dict[str, int] = field(default_factory=dict)
    """Bytes of `side`, `patch`, `index`, and of `memory` if there is one."""
    memory: dict[str, Any] | None = None
    """What was said about the memory when it was attached, its `stored_bytes`, and their `crc32`."""


def metadata_of(header: Header) -> dict[str, str]:
    """The safetensors metadata that holds this header."""
    version = VERSION if header.memory is None else WITH_MEMORY
    content = {"kind": KIND, "version": version, **asdict(header)}
    if header.memory is None:
        del content["memory"]  # as it was before there were memories
    text = json.dumps(content, separators=(",", ":"))
    return {HEADER: text, CRC: checksum(text)}


def checksum(text: str) -> str:
    """CRC-32 of a text, in hexadecimal."""
    return f"{zlib.crc32(text.encode()):08x}"


def header_from(metadata: dict[str, str], path: object) -> Header:
    """The header in safetensors metadata.

    Raises:
        VtcError: another kind of file, or one written by a newer program.
        VerificationError: the header does not match its checksum.
    """
    text, crc = metadata.get(HEADER), metadata.get(CRC)
    damaged = VerificationError(f"{path}: its header is damaged; fetch the file again or compress the text again")
    if crc is not None and (text is None or crc != checksum(text)):
        raise damaged
    try:
        content = json.loads(text or "null")
    except ValueError:
        content = None
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind != KIND:
        found = f"a vtc {kind}" if kind else "another kind of safetensors file"
        raise VtcError(f"{path}: is not a vtc document but {found}; name a file made by 'vtc compress'")
    if crc is None:
        raise damaged
    version = content.get("version")
    if version not in (VERSION, WITH_MEMORY):
        raise VtcError(
            f"{path}: has format {version} and this program reads {VERSION} and {WITH_MEMORY}; upgrade vtc-llm to "
            "open it"
        )
    names = [item.name for item in fields(Header) if item.name != "memory" or version == WITH_MEMORY]
    try:
        return Header(**{name: content[name] for name in names})
    except KeyError as error:
        raise VtcError(f"{path}: its header lacks {error}; compress the text again") from error


def pack_index(rows: np.ndarray) -> bytes:
    """uint32 [pages, columns] -> bytes. Byte planes make the columns that hardly vary almost free."""
    planes = np.ascontiguousarray(rows.T, dtype="<u4").view(np.uint8).reshape(len(COLUMNS), -1, 4)
    raw = np.ascontiguousarray(planes.transpose(0, 2, 1)).tobytes()  # [columns, byte, pages]
    return zstandard.ZstdCompressor(level=19).compress(raw)


def unpack_index(blob: bytes, pages: int) -> np.ndarray:
    """Inverse of `pack_index`: int64 [pages, columns].

    Raises:
        ValueError: the bytes are not an index of that many pages.
    """
    size = pages * len(COLUMNS) * 4
    try:
        if zstandard.get_frame_parameters(blob).content_size != size:
            raise ValueError("the page index has another length")
        raw = zstandard.ZstdDecompressor().decompress(blob)
    except zstandard.ZstdError as error:
        raise ValueError(f"the page index is unreadable ({error})") from error
    planes = np.frombuffer(raw, np.uint8).reshape(len(COLUMNS), 4, pages).transpose(2, 0, 1)
    return np.ascontiguousarray(planes).view("<u4").reshape(pages, len(COLUMNS)).astype(np.int64)
