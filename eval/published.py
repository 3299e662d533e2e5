"""Score DeepSeek-OCR's own published outputs by the code that scores vtc.

    python -m eval.published [--data DIR] [--out DIR]

Writes one CSV per condition to eval/results/: Fox pages rendered anew (`cleanrender`), the original scans (`scan`),
and random letters. One row per number of latents. The stored outputs are scored as they are, nothing stripped: the
clean pages carry no layout markup, and the few `**` and `\\(` that remain on scans are what the model wrote.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from math import isqrt
from pathlib import Path
from typing import Any

from eval.csvfile import RESULTS, Cell, write_rows
from eval.data import fox_pages, random_letters
from vtc.metrics import fidelity, latent_ratio, position_ratio
from vtc.records.errors import VtcError


def positions(latents: int) -> int:
    """Positions that DeepSeek-OCR's decoder sees for a square page of latents: one newline embedding a row and one
    separator come on top, so 64, 100 and 256 latents take 73, 111 and 273 positions."""
    side = isqrt(latents)
    if side * side != latents:
        raise ValueError(f"{latents} latents are no square page")
    return side * (side + 1) + 1


def score(pages: Sequence[dict[str, Any]], condition: str) -> dict[str, Cell]:
    """One row: DeepSeek-OCR's outputs under one condition, for example `clean_64`, against the true texts."""
    latents = int(condition.rpartition("_")[2])
    tokens = sum(page["tokens_deepseek"] for page in pages)
    outputs = [page["deepseek_ocr"][condition] for page in pages]
    return {
        "system": "DeepSeek-OCR",
        "condition": condition.rpartition("_")[0],
        "latents_per_page": latents,
        "positions_per_page": positions(latents),
        "tokens_per_page": tokens / len(pages),
        "latent_ratio": latent_ratio(tokens, latents * len(pages)),
        "position_ratio": position_ratio(tokens, positions(latents) * len(pages)),
        **fidelity([page["text"] for page in pages], outputs),
    }


def score_all(data: str | Path | None, out: Path) -> list[Path]:
    """Score every stored output and write the CSV files; returns their paths."""
    fox, letters = list(fox_pages(data)), list(random_letters(data))
    tables = [
        ("fox-en", "cleanrender", fox, ["clean_64", "clean_100", "clean_256"]),
        ("fox-en", "scan", fox, ["scan_64", "scan_100", "scan_256"]),
        ("random-letters", "cleanrender", letters, ["random_64", "random_100"]),
    ]
    written = []
    for name, condition, pages, columns in tables:
        path = out / f"deepseek-ocr_{name}-{len(pages)}_{condition}.csv"
        write_rows(path, [score(pages, column) for column in columns])
        written.append(path)
    return written


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m eval.published",
        description="Score DeepSeek-OCR's published outputs.",
        epilog="example: python -m eval.published --data ../shared/data",
    )
    parser.add_argument("--data", metavar="DIR", help="where the evaluation texts lie (default: VTC_DATA)")
    parser.add_argument("--out", metavar="DIR", type=Path, default=RESULTS, help="where the CSV files go")
    options = parser.parse_args(arguments)
    try:
        for path in score_all(options.data, options.out):
            print(path)
    except VtcError as error:
        print(f"eval.published: {error}", file=sys.stderr)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
