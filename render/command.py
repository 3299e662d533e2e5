"""What the renderer's commands share: errors as one line, the exit status, and `--json`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

from vtc.records.errors import VtcError


def parser(module: str, description: str, example: str) -> argparse.ArgumentParser:
    """Argument parser of `python -m module` with the options that all commands have."""
    made = argparse.ArgumentParser(
        prog=f"python -m {module}",
        description=description,
        epilog=f"example: python -m {module} {example}",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    made.add_argument("--json", action="store_true", help="make the last line of standard output one JSON document")
    made.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return made


def run(
    made: argparse.ArgumentParser,
    work: Callable[[argparse.Namespace], tuple[int, str, dict[str, Any]]],
    argv: Sequence[str] | None,
) -> int:
    """Parse, work, report. `work` gives the exit status, the lines for a reader, and the record for `--json`."""
    args = made.parse_args(argv)
    try:
        status, text, record = work(args)
    except VtcError as error:
        if args.debug:
            raise
        print(f"error: {error}", file=sys.stderr)
        return error.status
    print(text)
    if args.json:
        print(json.dumps(record, ensure_ascii=False))
    return status
