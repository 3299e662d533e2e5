"""What all verbs share: flags, output, and standard input by the name `-`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

STANDARD = "-"


def add_verb(
    verbs: Any, name: str, purpose: str, examples: str, run: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    """A verb's parser with the flags that every verb has.

    Args:
        verbs: what `add_subparsers` returned.
        examples: command lines, one per line.
    """
    lines = "\n".join(f"  {line}" for line in examples.strip().splitlines())
    parser: argparse.ArgumentParser = verbs.add_parser(
        name,
        help=purpose,
        description=purpose[0].upper() + purpose[1:] + ".",
        epilog=f"example:\n{lines}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--artifacts", type=folder, metavar="DIR", help="glyph tables and priors (default: the cache)")
    parser.add_argument("--json", action="store_true", help="print one JSON document as the last line of output")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.set_defaults(run=run)
    return parser


def folder(text: str) -> Path:
    """An existing folder, as an argparse type."""
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text}: no such folder")
    return Path(text)


def source(name: str) -> str | IO[bytes]:
    """The input by its name on the command line."""
    return sys.stdin.buffer if name == STANDARD else name


def target(name: str) -> str | IO[bytes]:
    """The output by its name on the command line."""
    return sys.stdout.buffer if name == STANDARD else name


def emit(args: argparse.Namespace, record: Any, text: str, stream: Any = None) -> None:
    """Print `record` as one JSON line with --json, else `text` (to `stream`, standard output by default)."""
    if args.json:
        print(json.dumps(record, ensure_ascii=False))
    elif text:
        print(text, file=stream or sys.stdout)


def human_bytes(size: int) -> str:
    """1234567 -> 1.2 MB, in powers of 1000."""
    value = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            break
        value /= 1000
    return f"{size} bytes" if unit == "bytes" else f"{value:.1f} {unit}"


def ratio(value: float | None) -> str:
    """3.14159 -> 3.14:1, and 0.00314159 -> 0.0031:1."""
    return "none" if value is None else f"{value:.2f}:1" if value >= 0.1 or not value else f"{value:.2g}:1"


def about_memory(memory: dict[str, Any]) -> str:
    """What a document holds for a reader, in words."""
    return (
        f"{memory['text_tokens']} tokens in {memory['positions']:,.0f} positions, position_ratio "
        f"{ratio(memory['position_ratio'])}, {memory['form']}, {human_bytes(memory['stored_bytes'])}"
    )
