"""`vtc ask`: a question about a document, answered by the frozen LLM."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from vtc.cli.common import STANDARD, add_verb, emit, ratio, source

EXAMPLES = """
vtc ask report.vtc "Who signed the report?"
vtc ask report.vtc "Who signed the report?" --pages 1 --json
vtc ask letter.txt "What is it about?" --reader text
vtc ask letter.txt "What is it about?" --reader kv --ratio 8
vtc ask letter.txt "What is it about?" --reader kv --fast
vtc ask report.vtc "Who signed the report?" --reader kv
"""

READER_OPTIONS = ("pages", "tokens", "passage_bytes", "order", "ratio", "fast")
"""Passed on to the reader when given; the reader knows its own defaults and limits."""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = add_verb(verbs, "ask", "answer a question about a document or a text", EXAMPLES, run)
    parser.add_argument("input", metavar="IN", help="document, or a plain text, or - for standard input")
    parser.add_argument("question", metavar="QUESTION", help="in the words of the text, for they are what is found")
    parser.add_argument(
        "--reader",
        default="expand",
        help="expand: the passages that fit the question; text: all of it; kv: all of it in fewer entries (default: "
        "expand)",
    )
    parser.add_argument("--llm", default="smollm2-135m", metavar="SPEC", help="LLM that reads: folder or hub id")
    parser.add_argument("--max-tokens", type=int, default=128, metavar="N", help="longest answer (default: 128)")
    expand = parser.add_argument_group("reader expand", "left out, the reader decides")
    expand.add_argument("--pages", type=int, metavar="K", help="most pages that passages are taken from (expand, kv)")
    expand.add_argument("--tokens", type=int, metavar="N", help="most tokens of text given to the LLM")
    expand.add_argument("--passage-bytes", type=int, metavar="N", help="longest passage")
    expand.add_argument("--order", metavar="ORDER", help="rank: the best passage last; text: as they stand in the text")
    kv = parser.add_argument_group("reader kv", "left out, the reader decides")
    kv.add_argument("--ratio", type=float, metavar="R", help="tokens of the text for each entry that attention sees")
    kv.add_argument("--fast", action="store_true", default=None, help="read once, and predict what reading twice shows")


def run(args: argparse.Namespace) -> int:
    """Stream the answer to standard output, then say on standard error what was read."""
    from vtc import api  # loads numpy

    question = args.question.encode("utf-8", "replace").decode()  # an argument may hold bytes that are not UTF-8
    options = {name: value for name in READER_OPTIONS if (value := getattr(args, name)) is not None}
    record = api.ask(
        source(args.input),
        question,
        reader=args.reader,
        llm=args.llm,
        artifacts=args.artifacts,
        max_new_tokens=args.max_tokens,
        on_text=show,
        progress=True,
        on_note=note,
        **options,
    )
    show("\n")
    name = "the input" if args.input == STANDARD else args.input
    print(summary(name, record), file=sys.stderr)
    emit(args, {"document": args.input, "question": question, **record}, "")
    return 0


def show(text: str) -> None:
    """Write a piece of the answer at once."""
    print(text, end="", flush=True)


def note(text: str) -> None:
    """Say something that is no part of the answer."""
    print(text, file=sys.stderr, flush=True)


def summary(name: str, record: dict[str, Any]) -> str:
    """What was read, for people."""
    lines = [f"{name}: is a plain text, not compressed"] if record["codec"] == "none" else []
    for passage in record["passages"]:
        pages = passage["pages"]
        where = f"page {pages[0]}" if len(pages) == 1 else f"pages {pages[0]}-{pages[-1]}"
        lines.append(f"{name}: read {where} of {record['pages']}, bytes {passage['start']}-{passage['stop']}")
    lines.append(
        f"{name}: {record['text_tokens']} tokens in {record['positions']:,.0f} positions, position_ratio "
        f"{ratio(record['position_ratio'])}, {record['seconds']:.1f} s after {record['prepare_seconds']:.1f} s to open"
    )
    return "\n".join(lines)
