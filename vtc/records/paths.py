"""Where artefacts and weights live on a user's machine.

`VTC_CACHE` moves everything; `VTC_ARTIFACTS` (or `--artifacts DIR`) moves what the workbenches built.
"""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def cache_dir() -> Path:
    """Directory for fetched weights and built artefacts (made on first write, not here)."""
    return Path(os.environ.get("VTC_CACHE") or platformdirs.user_cache_dir("vtc"))


def artifacts_dir() -> Path:
    """Directory of the atlas, the glyph tables, priors and codebooks."""
    return Path(os.environ.get("VTC_ARTIFACTS") or cache_dir() / "artifacts")
