"""Build the environments of the peers, `<cache>/peers/NAME`, one each because they want other transformers than we do.

    python -m eval.peers.environments [NAME ...]

prints one line a peer: built, up to date, or cannot with the reason (then the exit status is 1). What a peer needs
stands in `requirements/NAME.txt`. An environment sees the packages of the one that builds it AFTER its own, through a
`.pth` file, so that torch and whatever else fits both is not installed again: 0.1 to 0.4 GB a peer instead of 6.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from vtc.records.artefact import atomic_write, explain
from vtc.records.errors import UsageError, VtcError
from vtc.records.paths import cache_dir
from vtc.records.suggest import unknown

HERE = Path(__file__).resolve().parent
STAMP = "built.json"
"""Written last into an environment: what it was built from, and what its worker says of itself."""

SHARED = "after_our_own.pth"
"""`site` reads these files in site-packages, and puts their lines behind it on the path."""


def names() -> list[str]:
    """All peers that run here, by name."""
    return sorted(path.stem for path in (HERE / "requirements").glob("*.txt"))


def folder_of(name: str) -> Path:
    """Where the environment of a peer is or will be."""
    return cache_dir() / "peers" / name


def python_of(name: str) -> Path:
    """The interpreter of a built peer.

    Raises:
        VtcError: it is not built, or was built for other requirements.
    """
    if stamp(name) is None:
        raise VtcError(f"peer '{name}': not built; run: make peers")
    return interpreter(folder_of(name))


def versions(name: str) -> str:
    """What runs in the environment of a built peer, for example "kvpress 0.5.5, transformers 5.2.0, torch 2.14.1".

    Raises:
        VtcError: as `python_of`.
    """
    built = stamp(name)
    if built is None:
        raise VtcError(f"peer '{name}': not built; run: make peers")
    return built["versions"]


def stamp(name: str) -> dict[str, str] | None:
    """The stamp of a finished environment; None where there is none or it was built from something else."""
    try:
        content = json.loads((folder_of(name) / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    current = isinstance(content, dict) and content.get("key") == key(name)
    return content if current and interpreter(folder_of(name)).exists() else None


def key(name: str) -> str:
    """Hash of what an environment is made from: its requirements, this Python, and the packages that it shares."""
    requirements = (HERE / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    parts = [requirements, sys.version, *shared_folders(), metadata.version("torch")]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def shared_folders() -> list[str]:
    """Package folders of the environment that runs this, in its order."""
    return [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages") and os.path.isdir(path)]


def interpreter(folder: Path) -> Path:
    """The Python of an environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def build(name: str) -> str:
    """Build the environment of a peer, unless it is up to date, and say in one line what was done.

    Raises:
        VtcError: it cannot be built or does not run; the old one is gone and a half-made one is removed.
    """
    if stamp(name) is not None:
        with suppress(VtcError):  # a package that it shared may be gone since
            return f"{name}: up to date ({check(name)})"
    folder = folder_of(name)
    try:
        if folder.exists():
            shutil.rmtree(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        about = fill(name, folder)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise VtcError(f"peer '{name}': {explain(error, folder)}") from error
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    with atomic_write(folder / STAMP) as stream:
        stream.write(json.dumps({"key": key(name), "versions": about}, indent=2).encode() + b"\n")
    return f"{name}: built ({about})"


def fill(name: str, folder: Path) -> str:
    """Make an environment in `folder` and return what its worker says of itself."""
    run(name, [sys.executable, "-m", "venv", str(folder)])
    python = str(interpreter(folder))
    where = run(name, [python, "-I", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"])
    (Path(where) / SHARED).write_text("\n".join(shared_folders()) + "\n", encoding="utf-8")
    requirements = str(HERE / "requirements" / f"{name}.txt")
    run(name, [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements])
    return check(name)


def check(name: str) -> str:
    """Import everything that a peer needs, and return what its worker says of itself.

    Raises:
        VtcError: something is missing.
    """
    return run(name, [str(interpreter(folder_of(name))), "-I", str(HERE / f"{name}_worker.py"), "--check"])


def run(name: str, command: list[str]) -> str:
    """Standard output of a command, stripped.

    Raises:
        VtcError: it fails; with the line of its output that says most.
    """
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", errors="replace")
    if done.returncode:
        lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        # pip complains on the way of requirements that only our own packages have, and says last what stopped it.
        reasons = [line for line in lines if line.startswith("ERROR")] or lines or ["no output"]
        raise VtcError(f"peer '{name}': {Path(command[0]).name} {' '.join(command[1:4])} .. failed: {reasons[-1]}")
    return done.stdout.strip()


def main(argv: Sequence[str] | None = None) -> int:
    """Build the peers named, or all; one that cannot be built does not stop the others."""
    parser = argparse.ArgumentParser(
        prog="python -m eval.peers.environments",
        description="Build the environments in which the peers run.",
        epilog="example: python -m eval.peers.environments kvpress",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(names())} (default: all)")
    args = parser.parse_args(argv)
    failed = 0
    for name in args.names:
        if name not in names():
            print(unknown("peer", name, names()), file=sys.stderr)
            return UsageError.status
    for name in args.names or names():
        try:
            print(build(name), flush=True)
        except VtcError as error:
            failed = error.status
            print(f"{name}: cannot ({error})", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
