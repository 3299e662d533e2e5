"""`vtc restore`: a document back into its text."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from vtc.cli.common import STANDARD, add_verb, emit, source, target

EXAMPLES = """
vtc restore report.vtc -o report.txt
vtc restore report.vtc | less
vtc restore damaged.vtc -o guess.txt --partial
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    purpose = "restore the text of a document, exact to the byte"
    parser = add_verb(verbs, "restore", purpose, EXAMPLES, run)
    parser.add_argument("input", metavar="IN", help="document, or - for standard input")
    parser.add_argument("-o", "--output", default=STANDARD, metavar="OUT", help="file (default: standard output)")
    parser.add_argument("--partial", action="store_true", help="write the best guess of failed pages; still exits 3")


def run(args: argparse.Namespace) -> int:
    """Restore; with --json and no OUT the JSON document has the last line after the text to itself."""
    from vtc import api  # loads numpy

    start = time.perf_counter()
    api.restore(source(args.input), target(args.output), artifacts=args.artifacts, partial=args.partial, progress=True)
    seconds = round(time.perf_counter() - start, 3)
    if args.output == STANDARD:
        sys.stdout.buffer.write(b"\n" if args.json else b"")
        sys.stdout.buffer.flush()
    record = {"output": args.output, "document": args.input, "exact": True, "failed_pages": [], "seconds": seconds}
    if args.json and args.input != STANDARD:
        record = {**api.info(args.input), **record}
    text = "" if args.output == STANDARD else f"{args.output}: restored exactly, {seconds:.1f} s"
    emit(args, record, text)
    return 0
