"""The command `vtc`: verbs over `vtc.api`.

    vtc compress report.txt -o report.vtc
    vtc restore report.vtc -o again.txt

Exit status: 0 done, 2 usage, 3 verification failed, 1 anything else, 130 interrupted. Errors are one line that names
the file and the mend.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from importlib import import_module, metadata
from types import FrameType
from typing import NoReturn

from vtc.cli.common import emit
from vtc.records.artefact import explain
from vtc.records.errors import VtcError

VERBS = ("compress", "restore", "ask", "measure", "pages", "read", "info", "ls", "doctor")
"""Modules beside this one; each has `add_parser(verbs)`, and its parser a default `run(arguments) -> exit status`."""


class Parser(argparse.ArgumentParser):
    """Usage errors in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = Parser(prog="vtc", description="Compress a text into few vision tokens, restore it, read it.")
    parser.add_argument("--version", action="version", version=f"vtc {version()}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name in VERBS:
        import_module(f"vtc.cli.{name}").add_parser(verbs)
    return parser


def version() -> str:
    """Version of the installed distribution."""
    try:
        return metadata.version("vtc-llm")
    except metadata.PackageNotFoundError:
        return "not installed"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    args = build_parser().parse_args(arguments)
    if threading.current_thread() is threading.main_thread():  # signals are its business alone
        signal.signal(signal.SIGTERM, _terminated)
    try:
        status: int = args.run(args)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read our output has gone
        _hush()
        return 1
    except Exception as error:
        if args.debug:
            traceback.print_exc()
        return _report(error, args)


def _hush() -> None:
    """Send what standard output still holds nowhere, so that flushing it at exit does not raise again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(error: Exception, args: argparse.Namespace) -> int:
    """Print one line about a failure and return the exit status."""
    if isinstance(error, VtcError):
        message, status = str(error), error.status
    elif isinstance(error, OSError):
        message, status = explain(error, error.filename or "standard output"), 1
    elif isinstance(error, MemoryError):
        message, status = "not enough memory; close other programs or use a larger machine", 1
    else:
        message, status = f"unexpected {type(error).__name__}: {error}; please report it with the output of --debug", 1
    line = " ".join(message.split())
    print(f"vtc: {line}", file=sys.stderr)
    if args.json:
        pages = {"failed_pages": error.pages} if hasattr(error, "pages") else {}
        emit(args, {"error": line, "status": status, **pages}, "")
    return status


def _terminated(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)  # unwinds, so that temporary files are removed
