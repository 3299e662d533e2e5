"""Where artefacts and weights live on a user's machine.

`VTC_CACHE` moves everything; `VTC_ARTIFACTS` (or `--artifacts DIR`) moves what the workbenches built.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from vtc.records.errors import UsageError


def cache_dir() -> Path:
    """Directory for fetched weights and built artefacts (made on first write, not here)."""
    return Path(os.environ.get("VTC_CACHE") or platformdirs.user_cache_dir("vtc"))


def artifacts_dir() -> Path:
    """Directory of the atlas, the glyph tables, priors and codebooks."""
    return Path(os.environ.get("VTC_ARTIFACTS") or cache_dir() / "artifacts")


@contextmanager
def artifacts_at(folder: str | os.PathLike[str] | None) -> Iterator[None]:
    """Let every loader look for artefacts in `folder` inside the block (process-wide); None changes nothing.

    Raises:
        UsageError: there is no such folder.
    """
    if folder is None:
        yield
        return
    if not Path(folder).is_dir():
        raise UsageError(f"{folder}: no such folder of artefacts; check --artifacts")
    before = os.environ.get("VTC_ARTIFACTS")
    os.environ["VTC_ARTIFACTS"] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ["VTC_ARTIFACTS"]
        else:
            os.environ["VTC_ARTIFACTS"] = before
