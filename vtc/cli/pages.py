"""`vtc pages`: a text or a document as page images."""

from __future__ import annotations

import argparse
from typing import Any

from vtc.cli.common import add_verb, emit, human_bytes, source

EXAMPLES = """
vtc pages report.txt -o pages/
vtc pages report.vtc -o pages/ --columns 8
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = add_verb(verbs, "pages", "draw a text or a document as page images", EXAMPLES, run)
    parser.add_argument("input", metavar="IN", help="text or document, or - for a text from standard input")
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="folder for page-0001.png, ..")
    parser.add_argument("--llm", default="smollm2-135m", metavar="SPEC", help="LLM whose tokens are the symbols")
    parser.add_argument("--page-symbols", type=int, default=1024, metavar="N", help="symbols per page (default: 1024)")
    parser.add_argument("--columns", type=int, metavar="N", help="cells in a row (default: by the page's shape)")


def run(args: argparse.Namespace) -> int:
    """Draw and say what was drawn."""
    from vtc import imaging  # loads numpy

    record = imaging.write(
        source(args.input),
        args.output,
        llm=args.llm,
        artifacts=args.artifacts,
        page_symbols=args.page_symbols,
        columns=args.columns,
        progress=True,
    )
    summary = (
        f"{record['folder']}: {record['pages']} page{'s' * (record['pages'] != 1)}, {record['symbols']} symbols of "
        f"{human_bytes(record['text_bytes'])}, {human_bytes(record['image_bytes'])} of images"
    )
    emit(args, record, summary)
    return 0
