"""What a document says about itself, as one flat record."""

from __future__ import annotations

from typing import Any

from vtc.document.header import Header


def record(header: Header, size: int) -> dict[str, Any]:
    """The facts of a document of `size` bytes, JSON-able.

    `latent_ratio` is tokens / latents (None without latents) and `byte_ratio` text bytes / document bytes. `density` is
    the one asked for: pages that needed a lower one have more latents. `exact` is True if all pages are known to
    come back, None if nobody looked when they were written. `memory` says which reader's latents the document holds
    beside its pages (`vtc.readers.stored`), None if it holds none; they count in `document_bytes`.
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
        "memory": header.memory,
    }
