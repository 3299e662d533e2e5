"""The largest exact density of the hard codec, against width and storage.

    python -m eval.density [--data DIR] [--tiles N] [--out DIR]

A density counts as exact when every one of N tiles of Fox text comes back at the first attempt: no second prior, no
halves. Found by bisection, since success falls steeply with density. Out come a CSV and a plot in eval/results/.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eval.csvfile import RESULTS, Cell, write_rows
from eval.data import fox_pages
from vtc.codecs.hard import POSITIONS, HardCodec
from vtc.glyphs.table import GlyphTable
from vtc.llm.vocabulary import Vocabulary
from vtc.records.artefact import atomic_write
from vtc.records.errors import VtcError

PAGE = 2048  # symbols whose alphabet and counts are shared
WIDTHS = (256, 576, 1280, 2048)
STORAGES = ("float32", "float16", "int8", "int6", "int4", "int3")
KINDS: list[tuple[dict[str, Any], Sequence[int], Sequence[str]]] = [
    ({"alphabet": "page", "prior": "histogram"}, WIDTHS, STORAGES),
    ({"alphabet": "page", "prior": "none"}, (1280,), ("float16", "int8", "int4")),
    ({"alphabet": "vocabulary", "prior": "none"}, WIDTHS, ("float16", "int4")),
    ({"alphabet": "vocabulary", "prior": "unigram"}, (1280,), ("float16", "int8", "int4", "int3")),
]


def exact(ids: np.ndarray, table: GlyphTable, density: int, tiles: int, options: dict[str, Any]) -> bool:
    """Whether `tiles` tiles of `density` symbols all come back at the first attempt."""
    codec = HardCodec(table, density=density, verify=False, **options)
    page = max(1, PAGE // density) * density
    stop = min(tiles * density, len(ids) - page + 1)
    pages = [ids[start : start + page] for start in range(0, stop, page)]
    return all(decoded.exact for decoded in codec.decode(codec.encode(pages)))


def largest(ids: np.ndarray, table: GlyphTable, tiles: int, options: dict[str, Any]) -> int:
    """Largest exact density, to one part in 16; 0 if not even one symbol per latent comes back."""
    limit = min(POSITIONS, HardCodec(table, density=1, **options).capacity)
    low, high = 0, limit + 1
    guess = max(1, limit // 4)
    while high - low > max(1, low // 16):
        if exact(ids, table, guess, tiles, options):
            low = guess
        else:
            high = guess
        guess = min(limit, 2 * low) if high > limit and low else (low + high) // 2
        if low == limit:
            break
    return low


def rows(ids: np.ndarray, table: GlyphTable, tiles: int) -> Iterable[dict[str, Cell]]:
    """One row per kind, width and storage."""
    for kind, widths, storages in KINDS:
        for width in widths:
            for storage in storages:
                options = {"width": width, "storage": storage, **kind}
                density = largest(ids, table, tiles, options)
                size = HardCodec(table, density=1, **options).latent_bytes
                yield {
                    "tokenizer": table.name,
                    "data": "fox-en",
                    "seed": 0,
                    "tiles": tiles,
                    "page_symbols": PAGE,
                    **kind,
                    "width": width,
                    "storage": storage,
                    "largest_exact_density": density,
                    "latent_bits_per_token": 8 * size / density if density else None,
                }


def plot(results: Sequence[dict[str, Cell]], path: Path) -> None:
    """Density against width, one line per storage; the page's alphabet and histogram beside the flat vocabulary."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panes = pyplot.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
    titles = {"page": "page's alphabet, its histogram as prior", "vocabulary": "whole vocabulary, flat prior"}
    for pane, (alphabet, prior) in zip(panes, (("page", "histogram"), ("vocabulary", "none")), strict=True):
        chosen = [row for row in results if (row["alphabet"], row["prior"]) == (alphabet, prior)]
        for storage in STORAGES:
            line = [(row["width"], row["largest_exact_density"]) for row in chosen if row["storage"] == storage]
            if line:
                pane.plot(*zip(*line, strict=True), marker="o", label=storage)
        pane.set(xscale="log", yscale="log", xlabel="width of a latent (dimensions)", title=titles[alphabet])
        pane.set_xticks(WIDTHS, [str(width) for width in WIDTHS])
        pane.minorticks_off()
        pane.set_yticks(
            [8, 16, 32, 64, 128, 256, 512, 1024, 2048], ["8", "16", "32", "64", "128", "256", "512", "1024", "2048"]
        )
        pane.grid(alpha=0.3)
        pane.legend(frameon=False)
    panes[0].set_ylabel("largest exact density (tokens per latent)")
    with atomic_write(path) as stream:
        figure.savefig(stream, format="png", dpi=120)
    pyplot.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m eval.density", description="Largest exact density by width and storage."
    )
    parser.add_argument("--data", metavar="DIR", help="where the evaluation texts lie (default: VTC_DATA)")
    parser.add_argument(
        "--tiles", metavar="N", type=int, default=24, help="tiles that must all come back (default: 24)"
    )
    parser.add_argument("--out", metavar="DIR", type=Path, default=RESULTS, help="where the CSV and the plot go")
    options = parser.parse_args(arguments)
    try:
        table = GlyphTable.load()
        texts = [page["text"] for page in fox_pages(options.data)]
        ids = np.concatenate(Vocabulary.load(table.name).encode_batch(texts)).astype(np.int64)
        found = []
        for result in rows(ids, table, options.tiles):
            found.append(result)
            print(
                {k: v for k, v in result.items() if k not in ("tokenizer", "data", "seed")}, file=sys.stderr, flush=True
            )
        path = options.out / f"density_fox-en_{options.tiles}-tiles_smollm2-135m.csv"
        write_rows(path, found)
        plot(found, path.with_suffix(".png"))
    except VtcError as error:
        print(f"eval.density: {error}", file=sys.stderr)
        return error.status
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
