"""The shipped unigram prior: log-probabilities of a vocabulary's symbols, built by `python -m codebooks.prior`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vtc.glyphs.table import GlyphTable
from vtc.records.artefact import load_artefact
from vtc.records.errors import UsageError, VtcError

KIND = "unigram prior"
STEP = 0.125
"""Bits per unit of the stored surprisal."""


def prior_path(name: str) -> Path:
    """Where the prior of an LLM or tokenizer ships."""
    return Path(__file__).parents[1] / "data" / f"prior-{name.replace('/', '--')}.safetensors"


def load_prior(table: GlyphTable) -> tuple[np.ndarray, str]:
    """Natural-log probabilities float32 [V] of the table's symbols, and the content hash that documents carry.

    Raises:
        UsageError: none ships for this vocabulary.
        VtcError: it is damaged or belongs to another vocabulary.
    """
    path = prior_path(table.name)
    if not path.exists():
        raise UsageError(
            f"--prior unigram: none ships for {table.name}; "
            f"build one with: python -m codebooks.prior --llm {table.name}"
        )
    tensors, header = load_artefact(path, KIND)
    if header["vocabulary"] != table.vocabulary_hash:
        raise VtcError(
            f"{path}: prior of another vocabulary than {table.name}; build it again with: python -m codebooks.prior"
        )
    return -tensors["surprisal"].astype(np.float32) * np.float32(STEP * np.log(2)), header["sha256"]
