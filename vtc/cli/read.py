"""`vtc read`: page images back into their text."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from vtc.cli.common import STANDARD, add_verb, emit, target

EXAMPLES = """
vtc read pages/ -o report.txt
vtc read pages/page-0003.png --partial
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    purpose = "restore a text from its page images, exact to the byte"
    parser = add_verb(verbs, "read", purpose, EXAMPLES, run)
    parser.add_argument(
        "inputs", metavar="DIR|PNG", nargs="+", help="folder of page images, or the images in any order"
    )
    parser.add_argument("-o", "--output", default=STANDARD, metavar="OUT", help="file (default: standard output)")
    parser.add_argument("--partial", action="store_true", help="write the pages that are good; still exits 3")


def run(args: argparse.Namespace) -> int:
    """Read; with --json and no OUT the JSON document has the last line after the text to itself."""
    from vtc import imaging  # loads numpy

    start = time.perf_counter()
    imaging.read(args.inputs, target(args.output), artifacts=args.artifacts, partial=args.partial, progress=True)
    seconds = round(time.perf_counter() - start, 3)
    if args.output == STANDARD:
        sys.stdout.buffer.write(b"\n" if args.json else b"")
        sys.stdout.buffer.flush()
    record = {"output": args.output, "images": args.inputs, "exact": True, "seconds": seconds}
    text = "" if args.output == STANDARD else f"{args.output}: read exactly, {seconds:.1f} s"
    emit(args, record, text)
    return 0
