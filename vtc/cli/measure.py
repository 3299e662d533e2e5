"""`vtc measure`: compression ratio against fidelity, of a codec or of a reader, and what it costs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vtc.cli.common import add_verb, emit
from vtc.records.errors import UsageError

EXAMPLES = """
vtc measure book.txt
vtc measure book.txt notes.md --density 64,128,256 --storage float16,int4 -o results/
vtc measure book.vtc --no-llm --json
vtc measure book.txt --reader kv --ratios 4,8,16,32
"""

GRID = ("density", "width", "storage", "alphabet", "prior")
"""Options of the codec that take several values; the codec knows its own defaults and limits."""

CODEC_ONLY = (*GRID, "codec", "verify", "no_llm", "page_symbols", "prefill_pages")
READER_ONLY = ("ratios", "stretches", "tokens", "next_tokens")


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    purpose = "measure compression ratio against fidelity, as table, CSV, JSON and plot"
    parser = add_verb(verbs, "measure", purpose, EXAMPLES, run)
    parser.add_argument("inputs", metavar="IN", nargs="+", help="text, or document (as it is; for a reader restored)")
    parser.add_argument("-o", "--output", metavar="DIR", help="folder of the results (default: measure-NAME[-READER])")
    parser.add_argument("--llm", metavar="SPEC", help="LLM of the symbols and the prefill (default: smollm2-135m)")
    parser.add_argument("--seed", type=int, default=0, help="picks what is sampled (default: 0)")
    codec = parser.add_argument_group("codec", "several values, separated by commas, are all tried")
    codec.add_argument("--codec", help="hard, or ids: raw token ids, for comparison (default: hard)")
    codec.add_argument("--no-llm", action="store_true", default=None, help="do not time the LLM's prefill")
    codec.add_argument("--page-symbols", type=int, metavar="N", help="symbols per page (default: 1024)")
    codec.add_argument("--prefill-pages", type=int, metavar="N", help="pages to prefill (default: 8)")
    codec.add_argument("--density", type=listed(int), metavar="N,..", help="symbols per latent")
    codec.add_argument("--width", type=listed(int), metavar="N,..", help="dimensions of a latent")
    codec.add_argument("--storage", type=listed(str), metavar="FORM,..", help="float32, float16, int8, int4, ..")
    codec.add_argument("--alphabet", type=listed(str), metavar="SET,..", help="page or vocabulary")
    codec.add_argument("--prior", type=listed(str), metavar="NAME,..", help="none, unigram or histogram")
    codec.add_argument(
        "--no-verify", dest="verify", action="store_const", const=[False], help="measure the document without repair"
    )
    reader = parser.add_argument_group("reader", "instead of a codec; the control truncate is measured beside it")
    reader.add_argument("--reader", metavar="NAME", help="kv, or text: what the model makes of the compressed text")
    reader.add_argument("--ratios", type=listed(float), metavar="N,..", help="of the reader (default: 4,8,16,32)")
    reader.add_argument("--stretches", type=int, metavar="N", help="stretches of each file, at most (default: 5)")
    reader.add_argument("--tokens", type=int, metavar="N", help="tokens of a stretch's document (default: 1024)")
    reader.add_argument("--next-tokens", type=int, metavar="N", help="held out after each document (default: 64)")


def run(args: argparse.Namespace) -> int:
    """Measure, print and save."""
    from vtc.measuring import save  # loads numpy

    refuse_mixed(args)
    records, shown = measured_reader(args) if args.reader else measured_codec(args)
    if not args.json:
        print(shown, flush=True)  # before anything can go wrong with the folder
    name = "-".join(filter(None, ["measure", Path(args.inputs[0]).stem, args.reader]))
    written = [str(file) for file in save(records, args.output or name)]
    emit(args, {"records": records, "files": written}, f"\nsaved: {', '.join(written)}")
    return 0


def measured_codec(args: argparse.Namespace) -> tuple[list[dict[str, Any]], str]:
    """Records of a codec, and their table."""
    from vtc import measuring

    given = {name: getattr(args, name) for name in ("codec", "page_symbols", "prefill_pages")}
    records = measuring.measure(
        args.inputs,
        grid={name: values for name in (*GRID, "verify") if (values := getattr(args, name)) is not None},
        llm=args.llm,
        artifacts=args.artifacts,
        with_llm=not args.no_llm,
        seed=args.seed,
        progress=True,
        **{name: value for name, value in given.items() if value is not None},
    )
    return records, measuring.table(records)


def measured_reader(args: argparse.Namespace) -> tuple[list[dict[str, Any]], str]:
    """Records of a reader, and their table."""
    from vtc.measuring.reading import measure_reader
    from vtc.measuring.readshow import reading_table

    given = {name: getattr(args, name) for name in READER_ONLY}
    records = measure_reader(
        args.inputs,
        reader=args.reader,
        llm=args.llm,
        artifacts=args.artifacts,
        seed=args.seed,
        progress=True,
        **{name: value for name, value in given.items() if value is not None},
    )
    return records, reading_table(records)


def refuse_mixed(args: argparse.Namespace) -> None:
    """Refuse options of a codec beside those of a reader: one of them would be ignored.

    Raises:
        UsageError: naming the option.
    """
    for name in CODEC_ONLY if args.reader else READER_ONLY:
        if getattr(args, name) is not None:
            flag = "--no-verify" if name == "verify" else f"--{name.replace('_', '-')}"
            if args.reader:
                raise UsageError(f"{flag}: is an option of a codec; leave it or --reader out")
            raise UsageError(f"{flag}: is an option of a reader; name one with --reader, such as kv")


def listed(kind: type) -> Callable[[str], list[Any]]:
    """An argparse type: values separated by commas."""

    def split(text: str) -> list[Any]:
        return [kind(part) for part in text.split(",")]

    split.__name__ = f"list of {kind.__name__} values"  # what argparse names in its message
    return split
