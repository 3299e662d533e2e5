"""Writing a document page by page, in bounded memory and atomically."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from vtc.codecs.base import CodedPage
from vtc.document.header import COLUMNS, Header, metadata_of, pack_index
from vtc.records.streams import Target, open_target

SPOOL_BYTES = 8 << 20
"""Pages wait in memory up to this size, then in an unnamed file beside the target."""

COPY_BYTES = 1 << 20


@contextmanager
def write_document(out: Target, header: Header) -> Iterator[DocumentWriter]:
    """Open a document for writing; `out` gets it when the block succeeds and stays as it was when it fails.

    Args:
        out: path or binary stream.
        header: what is known before the first page; counts and hashes are filled in at the end.

    Raises:
        VtcError: the place cannot be written.
    """
    folder = str(Path(out).parent) if isinstance(out, (str, os.PathLike)) else None
    with open_target(out) as target, ExitStack() as stack:
        spools = [
            stack.enter_context(tempfile.SpooledTemporaryFile(max_size=SPOOL_BYTES, dir=folder)) for _ in range(3)
        ]
        writer = DocumentWriter(header, *spools)
        yield writer
        writer.finish(target)


class DocumentWriter:
    """Collects pages. Made by `write_document`; after that block `header` and `size_bytes` describe the file."""

    def __init__(self, header: Header, latents: IO[bytes], side: IO[bytes], patch: IO[bytes]) -> None:
        self.header = header
        self.size_bytes = 0
        self._spools = {"latents": latents, "side": side, "patch": patch}
        self._rows: list[tuple[int, ...]] = []
        self._digest = hashlib.sha256()
        self._memory = b""

    def add(self, coded: CodedPage, text: bytes, patch: bytes = b"") -> None:
        """Append one page.

        Args:
            coded: the page; its latents are uint8 [latents, header.latent_bytes].
            text: the original bytes that this page stands for.
            patch: how they differ from the symbols' own bytes (`vtc.document.paging`), empty where they do not.
        """
        if coded.latents.dtype != np.uint8 or coded.latents.shape[1:] != (self.header.latent_bytes,):
            raise ValueError(f"latents must be uint8 [n, {self.header.latent_bytes}]")
        latents = np.ascontiguousarray(coded.latents).tobytes()
        crc = 0
        for part in (latents, coded.side, patch):
            crc = zlib.crc32(part, crc)
        row = (coded.symbols, coded.checksum, crc, len(text), len(coded.latents), len(coded.side), len(patch))
        self._rows.append(row)
        self._digest.update(text)
        for name, data in (("latents", latents), ("side", coded.side), ("patch", patch)):
            self._spools[name].write(data)

    def attach(self, about: dict[str, Any], blob: bytes) -> None:
        """Let the document hold what a reader keeps of the text, as bytes that only the reader understands.

        Args:
            about: JSON-able facts; `stored_bytes` and `crc32` are added.
            blob: at least one byte. A second call replaces the first.
        """
        if not blob:
            raise ValueError("a memory has at least one byte")
        self._memory = blob
        self.header = replace(
            self.header, memory={**about, "stored_bytes": len(blob), "crc32": f"{zlib.crc32(blob):08x}"}
        )

    def finish(self, target: IO[bytes]) -> None:
        """Assemble the file: header, then the tensors one after the other."""
        rows = np.array(self._rows, dtype=np.int64).reshape(-1, len(COLUMNS))
        index = pack_index(rows) if len(rows) else b""
        total = dict(zip(COLUMNS, rows.sum(axis=0).tolist(), strict=True))
        sizes = {"side": total["side"], "patch": total["patch"], "index": len(index)}
        self.header = replace(
            self.header,
            text_bytes=total["text_bytes"],
            text_tokens=total["symbols"],
            latents=total["latents"],
            pages=len(rows),
            sha256=self._digest.hexdigest(),
            index_crc32=zlib.crc32(index),
            tensors={**sizes, "memory": len(self._memory)} if self._memory else sizes,
        )
        head = _safetensors_head(self.header)
        target.write(head)
        for spool in self._spools.values():
            spool.seek(0)
            shutil.copyfileobj(spool, target, COPY_BYTES)
        target.write(index)
        target.write(self._memory)
        latent_bytes = total["latents"] * self.header.latent_bytes
        self.size_bytes = len(head) + latent_bytes + sum(self.header.tensors.values())


def _safetensors_head(header: Header) -> bytes:
    """Length and JSON object of the safetensors format, padded with spaces to a multiple of 8 bytes."""
    content: dict[str, object] = {"__metadata__": metadata_of(header)}
    shapes = {"latents": [header.latents, header.latent_bytes], **{k: [n] for k, n in header.tensors.items()}}
    position = 0
    for name, shape in shapes.items():
        end = position + int(np.prod(shape, dtype=np.int64))
        if end > position:
            content[name] = {"dtype": "U8", "shape": shape, "data_offsets": [position, end]}
        position = end
    text = json.dumps(content, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text
