"""The glyph table: symbol -> glyph image, visual feature and LLM embedding row, all by id.

Built by `python -m codebooks.table`. A feature is a fixed linear map of the glyph image, centred and brought to unit
length, so that the patch embedding of a page image equals this table's row, cell by cell: nothing has to be recognised.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from vtc.llm.tokenbytes import TokenBytes
from vtc.records.artefact import load_artefact
from vtc.records.errors import VtcError
from vtc.records.paths import artifacts_dir

KIND = "glyph table"
VERSION = 1


def table_path(name: str) -> Path:
    """Where the table of the LLM or tokenizer `name` lives."""
    return artifacts_dir() / f"table-{name.replace('/', '--')}.safetensors"


def recipe_hash(atlas: str, vocabulary: str, rank: int) -> str:
    """What a table is made from. Tables of equal recipe agree up to rounding, whichever machine built them."""
    return hashlib.sha256(f"{KIND} {VERSION} {atlas} {vocabulary} {rank}".encode()).hexdigest()


@dataclass(frozen=True)
class GlyphTable:
    """One tokenizer's table. V symbols, rank r, LLM width d."""

    name: str
    """Name of the LLM or tokenizer."""
    hash: str
    """Recipe hash: documents carry it, and another table refuses to open them."""
    vocabulary_hash: str
    """`Vocabulary.hash` of the tokenizer."""
    tokens: TokenBytes
    """Bytes of every symbol."""
    features: np.ndarray
    """float32 [V, r], unit rows."""
    images: np.ndarray
    """uint8 [V, px / 8] packed glyph images."""
    cell: tuple[int, int]
    """Height and width of a glyph image, px."""
    path: Path = field(repr=False)
    """The artefact."""

    @classmethod
    def load(cls, name: str = "smollm2-135m", path: str | Path | None = None) -> GlyphTable:
        """Load and verify a table by name or path.

        Raises:
            VtcError: missing, damaged, foreign, or of another version.
        """
        path = Path(path) if path is not None else table_path(name)
        if not path.exists():
            raise VtcError(
                f"{path}: there is no glyph table for {name}; build it in a clone with `make artefacts` "
                "or name the folder that holds it with --artifacts DIR"
            )
        tensors, header = load_artefact(path, KIND)
        if header.get("version") != VERSION:
            raise VtcError(
                f"{path}: glyph table of version {header.get('version')}, this program reads {VERSION}; build it again"
            )
        return cls(
            name=header["name"],
            hash=header["recipe"],
            vocabulary_hash=header["vocabulary"],
            tokens=TokenBytes(tensors["token_bytes"], tensors["token_lengths"]),
            features=tensors["features"].astype(np.float32),
            images=tensors["images"],
            cell=tuple(header["cell"]),
            path=path,
        )

    def __len__(self) -> int:
        """Number of symbols, V."""
        return len(self.features)

    def decode(self, ids: np.ndarray) -> bytes:
        """Concatenated bytes of the symbols ids, int [n]."""
        return self.tokens.decode(ids)

    @cached_property
    def embeddings(self) -> np.ndarray:
        """The frozen LLM's input embedding rows, float16 [V, d]; read on first use.

        Raises:
            VtcError: the table was built without them.
        """
        try:
            return load_artefact(self.path, KIND, ["embeddings"])[0]["embeddings"]
        except VtcError as error:
            raise VtcError(
                f"{self.path}: built without embedding rows; build it again without --no-embeddings"
            ) from error
