"""A bank as bytes, and back: its pages as any latents, and beside them what choosing needs, the text included."""

from __future__ import annotations

import numpy as np
import zstandard

from vtc.llm.frozen import FrozenLM
from vtc.readers.kv.bank.bank import Bank
from vtc.readers.kv.storage import pack, unpack, unpack_beside
from vtc.records.errors import VtcError


def pack_bank(bank: Bank, form: str) -> bytes:
    """As `unpack_bank` reads it.

    Raises:
        UsageError: as `pack`.
    """
    beside: dict[str, np.ndarray] = {
        "text": np.frombuffer(zstandard.compress(b"".join(bank.texts), 19), np.uint8),
        "ends": np.array([stop for _, stop in bank.spans], np.int64),
        "heads": np.array(bank.heads, np.int32).reshape(-1, 2),
    }
    return pack(bank.pages, form, beside)


def is_bank(blob: bytes) -> bool:
    """Whether latents are those of a bank."""
    return "ends" in unpack_beside(blob)


def unpack_bank(blob: bytes, llm: FrozenLM, opening: np.ndarray) -> Bank:
    """Inverse of `pack_bank`.

    Args:
        opening: ids int32 [k >= 1] that the pages were read after.

    Raises:
        VtcError: other bytes, or latents of a model of another shape.
    """
    beside = unpack_beside(blob)
    try:
        text = zstandard.decompress(beside["text"].tobytes())
        ends = beside["ends"].tolist()
        heads = [(int(layer), int(head)) for layer, head in beside["heads"]]
    except (KeyError, zstandard.ZstdError) as error:
        raise VtcError(f"not the latents of a bank of pages ({error}); compress the text again") from error
    texts = [text[start:stop] for start, stop in zip([0, *ends], ends, strict=False)]
    return Bank(llm, opening, unpack(blob, llm), texts, heads)
