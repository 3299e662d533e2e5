"""`vtc doctor`: is everything here that the other verbs need, and what to do where it is not."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import Any

from vtc.cli.common import add_verb, emit, human_bytes
from vtc.records.errors import VtcError
from vtc.records.paths import artifacts_dir, cache_dir

EXAMPLES = """
vtc doctor
vtc doctor --json
"""
PYTHON = (3, 10)
DISTRIBUTION = "vtc-llm"
ROOM = 2_000_000_000
"""Bytes that the default LLM, its conversion and the artefacts need."""


@dataclass(frozen=True)
class Check:
    """One thing looked at."""

    name: str
    state: str
    """ok; warn: works, but; missing: something needs it."""
    found: str
    mend: str = ""


def add_parser(verbs: Any) -> None:
    """Add the verb."""
    add_verb(verbs, "doctor", "check what the other verbs need and say what to do", EXAMPLES, run)


def run(args: argparse.Namespace) -> int:
    """Print all checks; exit status 1 if something needed is missing."""
    from vtc import api  # loads numpy

    with api.artifacts_at(args.artifacts):
        checks = [*python(), *packages(), *places(), *llm(), *glyph_table(), *threads()]
    missing = [check for check in checks if check.state == "missing"]
    lines = [f"{c.state:8} {c.name:12} {c.found}" + (f"; {c.mend}" if c.mend else "") for c in checks]
    lines.append(f"{len(missing)} of {len(checks)} missing" if missing else "everything needed is here")
    emit(args, {"ok": not missing, "checks": [asdict(check) for check in checks]}, "\n".join(lines))
    return 1 if missing else 0


def python() -> Iterator[Check]:
    """Version of the interpreter."""
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < PYTHON:
        yield Check("python", "missing", found, "install Python 3.10 or newer")
    else:
        yield Check("python", "ok", found)


def packages() -> Iterator[Check]:
    """The distributions that ours requires, by its own metadata."""
    try:
        wanted = metadata.requires(DISTRIBUTION) or []
        yield Check(DISTRIBUTION, "ok", metadata.version(DISTRIBUTION))
    except metadata.PackageNotFoundError:
        yield Check(DISTRIBUTION, "warn", "run from a folder, not installed", "pip install -e .")
        return
    for requirement in wanted:
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        if "extra ==" in requirement:
            continue
        try:
            yield Check(name, "ok", metadata.version(name))
        except metadata.PackageNotFoundError:
            yield Check(name, "missing", "not installed", f"pip install '{requirement.split(';')[0].strip()}'")


def places() -> Iterator[Check]:
    """The cache: may we write there, and is there room."""
    place = cache_dir()
    above = next(folder for folder in (place, *place.absolute().parents) if folder.is_dir())
    if os.access(above, os.W_OK):
        yield Check("cache", "ok", str(place))
    else:
        yield Check("cache", "missing", f"{place} cannot be written", "set VTC_CACHE to a folder that can")
    free = shutil.disk_usage(above).free
    if free < ROOM:
        yield Check("disk", "warn", f"{human_bytes(free)} free", f"make room, {human_bytes(ROOM)} are enough")
    else:
        yield Check("disk", "ok", f"{human_bytes(free)} free")


def llm() -> Iterator[Check]:
    """The default LLM in the cache; needed to compress and to ask."""
    from vtc.llm import smollm2

    place = cache_dir() / "llm" / smollm2.NAME
    if smollm2.intact(place):
        yield Check("llm", "ok", str(place))
    else:
        yield Check("llm", "missing", f"{place} is not there", "fetch it once: python -m vtc.llm.smollm2")


def glyph_table() -> Iterator[Check]:
    """The glyph table of the default LLM; needed by every verb that codes or decodes."""
    from vtc import api

    try:
        table = api.load_table(api.DEFAULT_LLM)
        yield Check("glyph table", "ok", f"{table.hash[:12]} in {artifacts_dir()}")
    except VtcError as error:
        yield Check("glyph table", "missing", str(error))


def threads() -> Iterator[Check]:
    """Processors that this process may use."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS")
    if limit and limit.isdigit() and int(limit) < usable:
        yield Check("threads", "warn", f"{limit} of {usable} by OMP_NUM_THREADS", "unset it to use all")
    else:
        yield Check("threads", "ok", str(usable))
