"""Time from a question to its answer's first token: a document that is read again, and one that is kept as latents.

    python -m eval.latency [--tokens N ..] [--ratio R] [--latents FORM] [--rounds N] [--threads N] [--out DIR]

Every round asks the same question once in each way, in turn, so that a drift of the machine hits all alike; a row holds
the medians over the rounds and how many times sooner than by reading again the answer begins. The ways are those of a
user with the model loaded:

    reread  reader `text`, which reads the whole document before the question
    memory  reader `kv`, its latents in memory
    disk    the `.vtc` document opened, the model's weights compared with those that made its latents, and the latents
            loaded from it, then as before
"""

from __future__ import annotations

import argparse
import platform
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch

from eval.csvfile import RESULTS, Cell, write_rows
from eval.tasks.filler import haystack
from vtc import api
from vtc.llm.frozen import FrozenLM
from vtc.readers.base import Reader
from vtc.readers.text import TextReader
from vtc.records.errors import UsageError, VtcError

DOMAIN = "manual"
"""CPython's help topics, which every machine has."""
TOKENS = (1000, 4000, 7800)
"""The last is what a window of 8,192 holds beside questions; what is longer, reader `kv` keeps as a bank of pages."""
QUESTION = "What happens if an attribute is not found?"


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ways(text: bytes, path: Path, llm: FrozenLM) -> dict[str, Callable[[], float]]:
    """By name what asks a question in one of the ways, and returns the seconds up to the answer's first token.

    Args:
        path: the document of the text, with latents of reader `kv`.
    """
    kept = api.prepare(path, reader="kv", model=llm)

    def ask(reader: Reader) -> None:
        reader.ask(QUESTION, max_new_tokens=1)

    def reread() -> float:
        fresh = api.prepare(text, reader="text", model=llm)  # it has read nothing yet
        return seconds(lambda: ask(fresh))

    def memory() -> float:
        return seconds(lambda: ask(kept))

    def disk() -> float:
        return seconds(lambda: ask(api.prepare(path, reader="kv", model=llm)))

    return {"reread": reread, "memory": memory, "disk": disk}


def measure(text: bytes, llm: FrozenLM, ratio: float, form: str, rounds: int) -> dict[str, Cell]:
    """One document in all ways.

    Args:
        form: in which the document holds its latents.

    Raises:
        VtcError: the document is too long for the model, or the glyph table is missing.
    """
    with tempfile.TemporaryDirectory(prefix="vtc-latency-") as folder:
        path = Path(folder) / "document.vtc"
        options: dict[str, Any] = {"reader": "kv", "ratio": ratio, "latents": form, "codec": "ids"}
        compress = seconds(lambda: api.compress(text, path, model=llm, **options))
        held = api.info(path)["memory"]
        works = ways(text, path, llm)
        works["memory"](), works["disk"]()  # off the clock; the text was read just now
        taken = [{way: work() for way, work in works.items()} for _ in range(rounds)]
        weights = median(seconds(llm.fingerprint) for _ in range(rounds))
    reread, memory, disk = (median(found[way] for found in taken) for way in works)
    return {
        "model": llm.name,
        "tokenizer": llm.vocabulary.name,
        "dtype": str(llm.embeddings.dtype).removeprefix("torch."),
        "device": llm.device.type,
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
        "rounds": rounds,
        "domain": DOMAIN,
        "document_tokens": held["text_tokens"],
        "question_tokens": len(TextReader(llm).around(QUESTION)[1]),
        "ratio": ratio,
        "position_ratio": held["position_ratio"],
        "latents": form,
        "stored_bytes": held["stored_bytes"],
        "reread_seconds": reread,
        "memory_seconds": memory,
        "disk_seconds": disk,
        "fingerprint_seconds": weights,
        "memory_times_sooner": reread / memory,
        "disk_times_sooner": reread / disk,
        "compress_seconds": compress,
        "compress_per_reread": compress / reread,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m eval.latency", description="Time an answer's first token, read again and from latents."
    )
    parser.add_argument(
        "--tokens", metavar="N", type=int, nargs="+", default=TOKENS, help="of documents (default: 1000 4000 7800)"
    )
    parser.add_argument("--ratio", metavar="R", type=float, default=8.0, help="of reader kv (default: 8)")
    parser.add_argument("--latents", metavar="FORM", default=api.LATENTS, help=f"default: {api.LATENTS}")
    parser.add_argument("--rounds", metavar="N", type=int, default=3, help="default: 3")
    parser.add_argument("--threads", metavar="N", type=int, default=2, help="default: 2")
    parser.add_argument("--out", metavar="DIR", type=Path, default=RESULTS, help="where the CSV file goes")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    try:
        if options.rounds < 1:
            raise UsageError(f"--rounds {options.rounds}: choose 1 or more")
        llm = FrozenLM.load()
        texts = [haystack(DOMAIN, n, llm.vocabulary, random.Random(0)).encode() for n in options.tokens]
        rows = [measure(text, llm, options.ratio, options.latents, options.rounds) for text in texts]
        sizes = "-".join(map(str, options.tokens))
        name = f"latency_{DOMAIN}-{sizes}_ratio-{options.ratio:g}_{options.threads}-threads_{rows[0]['dtype']}-llm.csv"
        write_rows(options.out / name, rows)
    except VtcError as error:
        print(f"eval.latency: {error}", file=sys.stderr)
        return error.status
    print(options.out / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
