"""Time of folding and restoring, beside the frozen LLM's own prefill of the same text in the same run.

    python -m eval.speed [--data DIR] [--pages N] [--rounds N] [--threads N] [--out DIR]

Every round times the prefill and every configuration once, in turn, so that a drift of the machine hits all alike; a
row holds the medians over the rounds and the ratio to the prefill's. Fold = symbols to stored latents, unverified;
encode = with it.
"""

from __future__ import annotations

import argparse
import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from eval.csvfile import RESULTS, Cell, write_rows
from eval.data import fox_pages
from vtc.codecs.hard import HardCodec
from vtc.glyphs.table import GlyphTable
from vtc.llm.frozen import FrozenLM
from vtc.records.errors import VtcError

PAGE = 1024  # tokens
FLAT = {"alphabet": "vocabulary", "prior": "none"}
SYSTEMS: list[dict[str, Any]] = [
    {"density": 32, "storage": "float16", **FLAT},
    {"density": 64, "storage": "float16", **FLAT},
    {"density": 128, "storage": "float16", **FLAT},
    *({"density": density, "storage": "float16"} for density in (32, 64, 128, 256, 384, 512, 1024)),
    *({"density": density, "storage": "int8"} for density in (256, 384, 448, 512)),
    *({"density": density, "storage": "int4"} for density in (128, 192, 224, 256)),
]


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(pages: Sequence[np.ndarray], table: GlyphTable, llm: FrozenLM, rounds: int) -> list[dict[str, Cell]]:
    """One row per configuration; all of them in every round."""
    codecs = [HardCodec(table, **options) for options in SYSTEMS]
    bare = [HardCodec(table, verify=False, **options) for options in SYSTEMS]
    coded = [codec.encode(pages) for codec in codecs]
    for page in pages[:2]:
        llm.prefill(page)
    prefill: list[float] = []
    times: list[list[tuple[float, float, float]]] = [[] for _ in SYSTEMS]
    for _ in range(rounds):
        prefill.append(seconds(lambda: [llm.prefill(page) for page in pages]))
        for i, codec in enumerate(codecs):
            restore = seconds(lambda i=i, codec=codec: codec.decode(coded[i]))  # type: ignore[misc]
            fold = seconds(lambda i=i: bare[i].encode(pages))  # type: ignore[misc]
            encode = seconds(lambda codec=codec: codec.encode(pages))  # type: ignore[misc]
            times[i].append((restore, fold, encode))
    tokens, base = sum(map(len, pages)), median(prefill)
    rows: list[dict[str, Cell]] = []
    for options, codec, page_codes, taken in zip(SYSTEMS, codecs, coded, times, strict=True):
        restore, fold, encode = (median(column) for column in zip(*taken, strict=True))
        latents = sum(len(page.latents) for page in page_codes)
        side = sum(len(page.side) for page in page_codes)
        rows.append(
            {
                "model": llm.name,
                "tokenizer": table.name,
                "n_tokens": tokens,
                "rounds": rounds,
                "threads": torch.get_num_threads(),
                "machine": platform.machine(),
                "width": codec.width,
                "storage": codec.storage,
                "alphabet": codec.alphabet,
                "prior": codec.prior,
                "density_asked": options["density"],
                "latent_ratio": tokens / latents,
                "bits_per_token": 8 * (latents * codec.latent_bytes + side) / tokens,
                "prefill_tokens_per_second": tokens / base,
                "restore_tokens_per_second": tokens / restore,
                "restore_times_prefill": base / restore,
                "fold_times_prefill": base / fold,
                "encode_times_prefill": base / encode,
            }
        )
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m eval.speed", description="Time the hard codec beside the LLM's prefill."
    )
    parser.add_argument("--data", metavar="DIR", help="where the evaluation texts lie (default: VTC_DATA)")
    parser.add_argument("--pages", metavar="N", type=int, default=8, help="pages of 1,024 tokens (default: 8)")
    parser.add_argument("--rounds", metavar="N", type=int, default=3, help="default: 3")
    parser.add_argument("--threads", metavar="N", type=int, default=2, help="default: 2")
    parser.add_argument("--out", metavar="DIR", type=Path, default=RESULTS, help="where the CSV file goes")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    try:
        table, llm = GlyphTable.load(), FrozenLM.load()
        ids = np.concatenate(llm.vocabulary.encode_batch([page["text"] for page in fox_pages(options.data)]))
        pages = [ids[i * PAGE : (i + 1) * PAGE] for i in range(min(options.pages, len(ids) // PAGE))]
        path = options.out / f"speed_fox-en-{len(pages)}x{PAGE}_{options.threads}-threads_float32-llm.csv"
        write_rows(path, measure(pages, table, llm, options.rounds))
    except VtcError as error:
        print(f"eval.speed: {error}", file=sys.stderr)
        return error.status
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
