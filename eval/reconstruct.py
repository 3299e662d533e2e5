"""What the hard codec gives back, page by page, scored by the code that scores DeepSeek-OCR's published outputs.

    python -m eval.reconstruct [--data DIR] [--pages N] [--out DIR]

Every row folds whole pages twice: without verification (what the decoder alone achieves: accuracy and exact pages) and
with it (what a document holds: always exact, at the density that was reached). One CSV per data set in eval/results/.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eval.csvfile import RESULTS, Cell, write_rows
from eval.data import fox_pages, random_letters
from eval.texts import han_pages, hex_pages
from vtc.codecs.hard import HardCodec
from vtc.glyphs.table import GlyphTable
from vtc.llm.vocabulary import Vocabulary
from vtc.metrics import byte_ratio, fidelity, latent_ratio
from vtc.records.errors import VerificationError, VtcError

FLAT = {"alphabet": "vocabulary", "prior": "none"}
UNIGRAM = {"alphabet": "vocabulary", "prior": "unigram"}
SYSTEMS: list[dict[str, Any]] = [
    {"density": 64, "storage": "float16", **FLAT},
    {"density": 128, "storage": "float16", **FLAT},
    {"density": 100, "storage": "float16", **UNIGRAM},
    {"density": 100, "storage": "int4", **UNIGRAM},
    {"density": 256, "storage": "float16"},
    {"density": 512, "storage": "float16"},
    {"density": 1024, "storage": "float16"},
    {"density": 512, "storage": "int8"},
    {"density": 256, "storage": "int4"},
]
"""Configurations of the Fox table; the other data sets take the first and the last four."""


@dataclass(frozen=True)
class Text:
    """One page."""

    raw: bytes
    ids: np.ndarray


def row(name: str, texts: Sequence[Text], table: GlyphTable, options: dict[str, Any]) -> dict[str, Cell]:
    """One configuration on one data set."""
    pages = [text.ids for text in texts]
    tokens, size = sum(len(ids) for ids in pages), sum(len(text.raw) for text in texts)
    bare = HardCodec(table, verify=False, **options)
    guesses = [table.decode(page.ids).decode("utf-8", "replace") for page in bare.decode(bare.encode(pages))]
    sure = HardCodec(table, **options)
    coded = sure.encode(pages)
    if not all(page.exact for page in sure.decode(coded)):
        raise VerificationError(f"{name}: a verified page did not come back; this is a defect of the codec")
    latents = sum(len(page.latents) for page in coded)
    stored, side = latents * sure.latent_bytes, sum(len(page.side) for page in coded)
    return {
        "system": "vtc hard",
        "tokenizer": table.name,
        "seed": 0,
        "width": sure.width,
        "storage": sure.storage,
        "alphabet": sure.alphabet,
        "prior": sure.prior,
        "density_asked": sure.density,
        **fidelity([text.raw.decode("utf-8") for text in texts], guesses),
        "position_ratio": None,
        "latent_ratio": latent_ratio(tokens, latents),
        "byte_ratio": byte_ratio(size, stored + side),
        "bits_per_token": 8 * (stored + side) / tokens,
        "side_bits_per_token": 8 * side / tokens,
        "tokens_per_page": tokens / len(pages),
        "latents_per_page": latents / len(pages),
    }


def texts_of(pages: Sequence[str], vocabulary: Vocabulary, table: GlyphTable) -> list[Text]:
    """Pages as ids; a page whose tokens do not spell it is left out, and there must be none in these sets."""
    texts = [Text(page.encode(), ids) for page, ids in zip(pages, vocabulary.encode_batch(pages), strict=True)]
    kept = [text for text in texts if table.decode(text.ids) == text.raw]
    if len(kept) < len(texts):
        print(f"{len(texts) - len(kept)} pages left out: the tokenizer does not spell them", file=sys.stderr)
    return kept


def run(data: str | Path | None, limit: int | None, out: Path) -> list[Path]:
    """Fold and score every data set; returns the CSV files."""
    table, vocabulary = GlyphTable.load(), Vocabulary.load("smollm2-135m")
    few = [SYSTEMS[0], *SYSTEMS[-4:]]
    sets = [
        ("fox-en", [page["text"] for page in fox_pages(data)], SYSTEMS),
        ("random-letters", [page["text"] for page in random_letters(data)], few),
        ("random-han", han_pages(20), few),
        ("random-hex", hex_pages(20), few),
    ]
    written = []
    for name, pages, systems in sets:
        texts = texts_of(pages[:limit], vocabulary, table)
        rows = []
        for options in systems:
            rows.append(row(name, texts, table, options))
            shown = {
                k: rows[-1][k]
                for k in ("storage", "alphabet", "density_asked", "exact_pages", "latent_ratio", "bits_per_token")
            }
            print(name, shown, file=sys.stderr, flush=True)
        path = out / f"vtc-hard_{name}-{len(texts)}_smollm2-135m.csv"
        write_rows(path, rows)
        written.append(path)
    return written


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m eval.reconstruct", description="Score the hard codec on whole pages."
    )
    parser.add_argument("--data", metavar="DIR", help="where the evaluation texts lie (default: VTC_DATA)")
    parser.add_argument("--pages", metavar="N", type=int, help="only the first N pages of every set")
    parser.add_argument("--out", metavar="DIR", type=Path, default=RESULTS, help="where the CSV files go")
    options = parser.parse_args(arguments)
    try:
        for path in run(options.data, options.pages, options.out):
            print(path)
    except VtcError as error:
        print(f"eval.reconstruct: {error}", file=sys.stderr)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
