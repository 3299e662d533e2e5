"""`vtc info`: what a document holds."""

from __future__ import annotations

import argparse
from typing import Any

from vtc.cli.common import about_memory, add_verb, emit, human_bytes, ratio, source

EXAMPLES = """
vtc info report.vtc
vtc info report.vtc --json
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = add_verb(verbs, "info", "say what a document holds, without decoding it", EXAMPLES, run)
    parser.add_argument("input", metavar="IN", help="document, or - for standard input")


def run(args: argparse.Namespace) -> int:
    """Print the record."""
    from vtc import api  # loads numpy

    record = {"document": args.input, **api.info(source(args.input))}
    emit(args, record, table(record))
    return 0


def table(record: dict[str, Any]) -> str:
    """The record in lines, for people."""
    exact = {True: "yes, known when it was written", False: "no", None: "not checked when written"}
    shown = {
        **record,
        "text_bytes": human_bytes(record["text_bytes"]),
        "document_bytes": human_bytes(record["document_bytes"]),
        "latent_ratio": f"{ratio(record['latent_ratio'])} (tokens : latents, nominal)",
        "byte_ratio": f"{ratio(record['byte_ratio'])} (text : document with all side information)",
        "exact": exact[record["exact"]],
        "codebook": record["codebook"] or "none",
        "memory": memory_line(record["memory"]),
        "config": ", ".join(f"{key}={value}" for key, value in record["config"].items()),
    }
    return "\n".join(f"{key:16} {value}" for key, value in shown.items())


def memory_line(memory: dict[str, Any] | None) -> str:
    """Whose latents the document holds, for people."""
    if memory is None:
        return "none"
    options = ", ".join(f"{key}={value}" for key, value in memory["options"].items() if value is not None)
    maker = f"made with {memory['llm']} {memory['fingerprint'][:12]}"
    return f"reader {memory['reader']} ({options}): {about_memory(memory)}, {maker}"
