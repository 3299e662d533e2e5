"""`vtc ls`: documents of a folder and artefacts of the cache."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vtc.cli.common import add_verb, emit, human_bytes
from vtc.records.artefact import HEADER
from vtc.records.errors import UsageError
from vtc.records.paths import artifacts_dir

EXAMPLES = """
vtc ls
vtc ls reports/ --json
"""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    parser = add_verb(verbs, "ls", "list the documents of a folder and the artefacts in use", EXAMPLES, run)
    parser.add_argument("folder", metavar="DIR", nargs="?", default=".", help="folder (default: this one)")


def run(args: argparse.Namespace) -> int:
    """List both."""
    if not Path(args.folder).is_dir():
        raise UsageError(f"{args.folder}: no such folder; name one that holds documents")
    documents = entries(Path(args.folder).glob("*.vtc"))
    place = args.artifacts or artifacts_dir()
    artefacts = entries(place.rglob("*.safetensors"))
    lines = [f"documents in {args.folder}", *lines_of(documents), f"artefacts in {place}", *lines_of(artefacts)]
    emit(args, {"documents": documents, "artefacts": artefacts}, "\n".join(lines))
    return 0


def entries(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Path, bytes and kind of each file, in name order."""
    files = (path for path in sorted(paths) if path.is_file() and not path.name.startswith("."))
    return [{"path": str(path), "bytes": path.stat().st_size, "kind": kind_of(path)} for path in files]


def kind_of(path: Path) -> str:
    """What the header says that the file is; `unreadable` if there is none."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as archive:
            content = json.loads((archive.metadata() or {}).get(HEADER, "null"))
    except (OSError, SafetensorError, ValueError):
        return "unreadable"
    return str(content.get("kind", "unknown")) if isinstance(content, dict) else "foreign"


def lines_of(found: list[dict[str, Any]]) -> list[str]:
    """For people."""
    return [f"  {human_bytes(e['bytes']):>12}  {e['kind']:12}  {Path(e['path']).name}" for e in found] or ["  none"]
