"""A training run's folder: `config.yaml`, `command.txt`, `env.json`, and `metrics.json`, written last: it exists
exactly when the run finished."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from vtc.measuring import cost
from vtc.records.artefact import atomic_write, explain
from vtc.records.config import save_resolved
from vtc.records.errors import UsageError, VtcError

ROOT = Path(__file__).resolve().parents[1]


def check_unfinished(folder: Path) -> None:
    """Refuse to write over a finished run.

    Raises:
        UsageError: with the mend.
    """
    if (folder / "metrics.json").exists():
        raise UsageError(f"{folder}: holds a finished run; choose another one with run=DIR, or remove it")


def begin(folder: Path, config: Any, module: str, arguments: list[str], facts: dict[str, Any]) -> None:
    """Say what the run is; `facts` go into `env.json`.

    Raises:
        VtcError: the place can not be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VtcError(explain(error, folder)) from error
    save_resolved(config, folder / "config.yaml")
    commit, status = _git("rev-parse", "HEAD"), _git("status", "--porcelain")
    here = {"commit": commit, "dirty": None if status is None else bool(status), **facts, **cost.machine()}
    _write(folder / "command.txt", " ".join([f"python -m {module}", *arguments]) + "\n")
    _write(folder / "env.json", json.dumps(here, indent=1) + "\n")


def finish(folder: Path, metrics: dict[str, Any]) -> None:
    """The run is done."""
    _write(folder / "metrics.json", json.dumps(metrics, indent=1) + "\n")


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as stream:
        stream.write(text.encode())


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
