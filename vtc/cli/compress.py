"""`vtc compress`: a text into a document."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from vtc.cli.common import STANDARD, about_memory, add_verb, emit, human_bytes, ratio, source, target
from vtc.records.errors import UsageError

EXAMPLES = """
vtc compress report.txt -o report.vtc
vtc compress report.txt -o report.vtc --density 64 --storage int4
vtc compress report.txt -o report.vtc --reader kv --ratio 8
cat *.md | vtc compress - -o notes.vtc --json
"""

CODEC_OPTIONS = ("density", "width", "storage", "alphabet", "prior", "verify")
"""Passed on to the codec when given; the codec knows its own defaults and limits."""

READER_OPTIONS = ("ratio", "latents", "fast")
"""The same for the reader whose latents the document is to hold."""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = add_verb(verbs, "compress", "compress a text of any size and any bytes into a document", EXAMPLES, run)
    parser.add_argument("input", metavar="IN", help="file, or - for standard input")
    parser.add_argument("-o", "--output", metavar="OUT", help="document (default: IN.vtc); - for standard output")
    parser.add_argument("--codec", default="hard", help="hard, or ids: raw token ids, for comparison (default: hard)")
    parser.add_argument("--llm", default="smollm2-135m", metavar="SPEC", help="LLM whose tokens are the symbols")
    parser.add_argument("--page-symbols", type=int, default=1024, metavar="N", help="symbols per page (default: 1024)")
    codec = parser.add_argument_group("codec", "left out, the codec decides")
    codec.add_argument("--density", type=int, metavar="N", help="symbols per latent")
    codec.add_argument("--width", type=int, metavar="N", help="dimensions of a latent")
    codec.add_argument("--storage", metavar="FORM", help="float32, float16, int8, int4 or int3")
    codec.add_argument("--alphabet", metavar="SET", help="symbols to tell apart: those of the page, or the vocabulary")
    codec.add_argument("--prior", metavar="NAME", help="none, unigram or histogram")
    codec.add_argument("--no-verify", dest="verify", action="store_false", default=None, help="do not decode each page")
    latents = parser.add_argument_group(
        "a reader's latents", "so that 'vtc ask OUT --reader kv' need not read the text"
    )
    latents.add_argument("--reader", metavar="NAME", help="kv: the LLM reads the text now and the document keeps it")
    latents.add_argument("--ratio", type=float, metavar="R", help="tokens of the text for each entry that is kept")
    latents.add_argument(
        "--fast", action="store_true", default=None, help="read the text once, and predict what reading it twice shows"
    )
    latents.add_argument("--latents", metavar="FORM", help="float16, float32 or int8 (default: float16)")


def run(args: argparse.Namespace) -> int:
    """Compress and print the record."""
    from vtc import api  # loads numpy

    if args.output is None and args.input == STANDARD:
        raise UsageError("-o is needed when the input is standard input; name the document")
    out = args.output or f"{args.input}.vtc"
    if out == STANDARD and args.json:
        raise UsageError("--json and -o - both want standard output; name a file with -o")
    given = [name for name in READER_OPTIONS if getattr(args, name) is not None]
    if given and args.reader is None:
        raise UsageError(f"--{given[0]} is about a reader's latents; add --reader kv")
    options = {name: value for name in (*CODEC_OPTIONS, *given) if (value := getattr(args, name)) is not None}
    start = time.perf_counter()
    record = api.compress(
        source(args.input),
        target(out),
        codec=args.codec,
        llm=args.llm,
        artifacts=args.artifacts,
        page_symbols=args.page_symbols,
        reader=args.reader,
        progress=True,
        **options,
    )
    record = {"document": out, **record, "seconds": round(time.perf_counter() - start, 3)}
    emit(args, record, summary(record), stream=sys.stderr if out == STANDARD else None)
    return 0


def summary(record: dict[str, Any]) -> str:
    """One line for people."""
    memory = record["memory"]
    latents = f", latents for reader {memory['reader']} ({about_memory(memory)})" if memory else ""
    return (
        f"{record['document']}: {human_bytes(record['text_bytes'])}, {record['text_tokens']} tokens in "
        f"{record['latents']} latents; latent_ratio {ratio(record['latent_ratio'])}, "
        f"byte_ratio {ratio(record['byte_ratio'])}{latents}, {record['seconds']:.1f} s"
    )
