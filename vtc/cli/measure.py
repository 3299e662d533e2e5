"""`vtc measure`: compression ratio against fidelity, and what it costs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vtc.cli.common import add_verb, emit

EXAMPLES = """
vtc measure book.txt
vtc measure book.txt notes.md --density 64,128,256 --storage float16,int4 -o results/
vtc measure book.vtc --no-llm --json
"""

GRID = ("density", "width", "storage", "alphabet", "prior")
"""Options of the codec that take several values; the codec knows its own defaults and limits."""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    purpose = "measure compression ratio against fidelity, as table, CSV, JSON and plot"
    parser = add_verb(verbs, "measure", purpose, EXAMPLES, run)
    parser.add_argument("inputs", metavar="IN", nargs="+", help="text, or document (measured as it is)")
    parser.add_argument("-o", "--output", metavar="DIR", help="folder of the results (default: measure-NAME)")
    parser.add_argument("--codec", default="hard", help="hard, or ids: raw token ids, for comparison (default: hard)")
    parser.add_argument("--llm", metavar="SPEC", help="LLM of the symbols and the prefill (default: smollm2-135m)")
    parser.add_argument("--no-llm", action="store_true", help="do not time the LLM's prefill")
    parser.add_argument("--page-symbols", type=int, default=1024, metavar="N", help="symbols per page (default: 1024)")
    parser.add_argument("--prefill-pages", type=int, default=8, metavar="N", help="pages to prefill (default: 8)")
    parser.add_argument("--seed", type=int, default=0, help="picks those pages (default: 0)")
    codec = parser.add_argument_group("codec", "several values, separated by commas, are all tried")
    codec.add_argument("--density", type=listed(int), metavar="N,..", help="symbols per latent")
    codec.add_argument("--width", type=listed(int), metavar="N,..", help="dimensions of a latent")
    codec.add_argument("--storage", type=listed(str), metavar="FORM,..", help="float32, float16, int8, int4, ..")
    codec.add_argument("--alphabet", type=listed(str), metavar="SET,..", help="page or vocabulary")
    codec.add_argument("--prior", type=listed(str), metavar="NAME,..", help="none, unigram or histogram")
    codec.add_argument(
        "--no-verify", dest="verify", action="store_const", const=[False], help="measure the document without repair"
    )


def run(args: argparse.Namespace) -> int:
    """Measure, print and save."""
    from vtc import measuring  # loads numpy

    records = measuring.measure(
        args.inputs,
        codec=args.codec,
        grid={name: values for name in (*GRID, "verify") if (values := getattr(args, name)) is not None},
        llm=args.llm,
        artifacts=args.artifacts,
        page_symbols=args.page_symbols,
        with_llm=not args.no_llm,
        prefill_pages=args.prefill_pages,
        seed=args.seed,
        progress=True,
    )
    if not args.json:
        print(measuring.table(records), flush=True)  # before anything can go wrong with the folder
    written = [str(file) for file in measuring.save(records, args.output or f"measure-{Path(args.inputs[0]).stem}")]
    emit(args, {"records": records, "files": written}, f"\nsaved: {', '.join(written)}")
    return 0


def listed(kind: type) -> Callable[[str], list[Any]]:
    """An argparse type: values separated by commas."""

    def split(text: str) -> list[Any]:
        return [kind(part) for part in text.split(",")]

    split.__name__ = f"list of {kind.__name__} values"  # what argparse names in its message
    return split
