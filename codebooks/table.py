"""Build the glyph table of a tokenizer: every symbol's glyph image, its visual feature, and the LLM's embedding row
beside it.

    python -m codebooks.table [--llm smollm2-135m] [--rank 256] [--force]

Out comes `table-NAME.safetensors` in the artefacts folder, which `vtc.glyphs.table.GlyphTable` loads. It is skipped
when it is up to date. The build fails if two symbols share an image or a feature.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import torch

from vtc.glyphs.atlas import Atlas
from vtc.glyphs.codes import repeat_ordinals
from vtc.glyphs.table import KIND, VERSION, recipe_hash, table_path
from vtc.llm.vocabulary import Vocabulary
from vtc.records.artefact import read_header, save_artefact
from vtc.records.errors import UsageError, VtcError
from vtc.records.noise import signs

RIDGE = 1e-2  # of the mean variance of a pixel: directions weaker than that are not amplified further
NEAREST = 1e-3  # smallest allowed distance between two features


def whitening(images: np.ndarray, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The fixed linear map from a glyph image to its feature, before normalisation.

    The map is R' (C + ridge I)^(-1/2), applied to the centred image, with C the covariance of the vocabulary's images
    and R fixed random signs (Achlioptas 2003). Unlike principal components, the symmetric root neither depends on the
    signs and order that an eigensolver returns nor cuts the spectrum, so that two machines get the same map up to
    rounding.

    Args:
        images: uint8 [V, px / 8] packed bits.
        rank: features kept.

    Returns:
        mean image float32 [px], map float32 [px, rank].
    """
    pixels = images.shape[1] * 8
    gram = torch.zeros(pixels, pixels, dtype=torch.float64)
    total = torch.zeros(pixels, dtype=torch.float64)
    for start in range(0, len(images), 8192):
        chunk = torch.from_numpy(np.unpackbits(images[start : start + 8192], axis=1)).float()
        gram += chunk.T @ chunk  # counts below 2^24: exact in float32
        total += chunk.sum(0)
    mean = total / len(images)
    covariance = gram / len(images) - torch.outer(mean, mean)
    values, vectors = torch.linalg.eigh(covariance)
    root = (values.clamp(min=0) + RIDGE * values.mean()).rsqrt()
    projection = torch.from_numpy(signs("glyph table projection 1", (pixels, rank))).double()
    return mean.float(), (vectors @ (root[:, None] * (vectors.T @ projection))).float()


def features(images: np.ndarray, mean: torch.Tensor, linear: torch.Tensor) -> torch.Tensor:
    """Unit features float32 [V, rank] of packed images: the pixel path of the glyph table."""
    rows = []
    for start in range(0, len(images), 8192):
        chunk = torch.from_numpy(np.unpackbits(images[start : start + 8192], axis=1)).float()
        rows.append(torch.nn.functional.normalize((chunk - mean) @ linear, dim=1))
    return torch.cat(rows)


def nearest_distance(rows: torch.Tensor) -> tuple[float, int, int]:
    """Smallest Euclidean distance between two unit rows [V, r], and which two: exact, in blocks."""
    best = (2.0, 0, 0)
    for start in range(0, len(rows), 2048):
        cosine = rows[start : start + 2048] @ rows[start:].T
        cosine.diagonal().fill_(-1)
        flat = int(cosine.argmax())
        one, other = divmod(flat, cosine.shape[1])
        distance = float((rows[start + one] - rows[start + other]).norm())
        best = min(best, (distance, start + one, start + other))
    return best


def check_injective(images: np.ndarray, rows: torch.Tensor, tokens: list[bytes]) -> float:
    """Raise unless all images and all features differ; returns the smallest distance between features."""
    _, first, count = np.unique(images, axis=0, return_index=True, return_counts=True)
    if len(first) < len(images):
        culprit = int(first[count.argmax()])
        twins = np.flatnonzero((images == images[culprit]).all(1))[:4]
        raise VtcError(
            f"glyph table: tokens {[tokens[i] for i in twins]} share one image; change the style or the atlas"
        )
    distance, one, other = nearest_distance(rows)
    if distance < NEAREST:
        raise VtcError(f"glyph table: tokens {tokens[one]!r} and {tokens[other]!r} share one feature; raise --rank")
    return distance


def build(vocabulary: Vocabulary, atlas: Atlas, rank: int, embeddings: np.ndarray | None, path: Path) -> str:
    """Build and save one table; returns its content hash."""
    tokens = vocabulary.token_bytes
    images = atlas.draw_tokens(tokens, repeat_ordinals(tokens))
    mean, linear = whitening(images, rank)
    rows = features(images, mean, linear)
    distance = check_injective(images, rows, tokens)
    tensors = {
        "images": images,
        "mean": mean.numpy(),
        "map": linear.numpy(),
        "features": rows.numpy().astype(np.float16),
        "token_lengths": np.array([len(t) for t in tokens], dtype="<u2"),
        "token_bytes": np.frombuffer(b"".join(tokens), dtype=np.uint8),
    }
    if embeddings is not None:
        tensors["embeddings"] = embeddings.astype(np.float16)
    meta = {
        "version": VERSION,
        "name": vocabulary.name,
        "recipe": recipe_hash(atlas.hash, vocabulary.hash, rank),
        "atlas": atlas.hash,
        "vocabulary": vocabulary.hash,
        "rank": rank,
        "cell": [atlas.cell_height, atlas.cell_width],
        "smallest_distance": distance,
    }
    return save_artefact(path, KIND, tensors, meta)


def up_to_date(path: Path, recipe: str) -> bool:
    """Whether the file at `path` was built from the same atlas, vocabulary and rank."""
    try:
        return read_header(path, KIND).get("recipe") == recipe
    except VtcError:
        return False


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m codebooks.table", description="Build the glyph table of a tokenizer."
    )
    parser.add_argument(
        "--llm", default="smollm2-135m", help="default LLM, local folder or hub id (default: %(default)s)"
    )
    parser.add_argument(
        "--rank", type=int, default=256, help="dimensions of a feature, a multiple of 64 (default: 256)"
    )
    parser.add_argument("--no-embeddings", action="store_true", help="leave out the LLM's rows (no weights are needed)")
    parser.add_argument("--force", action="store_true", help="build even if up to date")
    parser.add_argument("-o", "--output", type=Path, help="file to write (default: in the artefacts folder)")
    options = parser.parse_args(argv)
    try:
        if options.rank < 64 or options.rank % 64:
            raise UsageError(f"--rank {options.rank}: choose a multiple of 64")
        vocabulary, atlas = Vocabulary.load(options.llm), Atlas.load()
        path = options.output or table_path(vocabulary.name)
        if not options.force and up_to_date(path, recipe_hash(atlas.hash, vocabulary.hash, options.rank)):
            print(f"{path}: up to date")
            return 0
        embeddings = None
        if not options.no_embeddings:
            from vtc.llm.frozen import FrozenLM

            embeddings = FrozenLM.load(options.llm).embeddings.float().numpy()
        build(vocabulary, atlas, options.rank, embeddings, path)
    except VtcError as error:
        print(f"codebooks.table: {error}", file=sys.stderr)
        return error.status
    print(f"{path}: built, {vocabulary.size} symbols, {options.rank} dimensions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
