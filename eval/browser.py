"""A headless Chromium for looking at reports: found on the machine, or installed.

    python -m eval.browser          prints its path; installs one if there is none

Root gets Debian's package; everyone else a copy of it, unpacked into vtc's cache, which needs no password.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from vtc.records.artefact import atomic_write, explain
from vtc.records.errors import VtcError
from vtc.records.paths import cache_dir

NAMES = ("chromium", "chromium-headless-shell", "google-chrome", "google-chrome-stable", "chrome", "chromium-browser")
PACKAGE = "chromium"
MEND = "install Chromium or Chrome by hand, then repeat"
HEADLESS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--no-first-run",
)
"""No sandbox: root has none, and only files that we made are opened."""
FONTS = """<?xml version="1.0"?>
<fontconfig><dir>/usr/share/fonts</dir><dir>{fonts}</dir><cachedir>{cache}</cachedir></fontconfig>
"""
TIMEOUT = 120  # seconds


def unpacked() -> Path:
    """Where the copy of someone without root lies."""
    return cache_dir() / "browser"


def find() -> Path | None:
    """A browser on PATH, or the unpacked one."""
    for name in NAMES:
        found = shutil.which(name)
        if found:
            return Path(found)
    own = unpacked() / "run"
    return own if os.access(own, os.X_OK) else None


def ensure() -> Path:
    """The browser, installed if there is none.

    Raises:
        VtcError: none can be had here.
    """
    found = find()
    if found:
        return found
    if not shutil.which("apt-get"):
        raise VtcError(f"no browser on PATH, and no apt-get to fetch one; {MEND}")
    if os.geteuid() == 0:
        _apt(["update"])
        _apt(["install", "-y", "--no-install-recommends", PACKAGE])
    else:
        _unpack()
    found = find()
    if not found:
        raise VtcError(f"{PACKAGE} was installed, but there is no browser on PATH; {MEND}")
    return found


def dump_dom(page: Path) -> str:
    """The document as it stands when a page has loaded; pages from files may look into frames from files.

    Raises:
        VtcError: no browser, or it failed.
    """
    return _run(["--allow-file-access-from-files", "--dump-dom", "--virtual-time-budget=5000", page.resolve().as_uri()])


def screenshot(page: Path, out: Path, width: int, height: int, dark: bool = False) -> Path:
    """A PNG of the top of a page in a window of this size.

    Raises:
        VtcError: no browser, or it failed.
    """
    scheme = ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"] if dark else []
    _run([f"--screenshot={out.resolve()}", f"--window-size={width},{height}", *scheme, page.resolve().as_uri()])
    if not out.is_file():
        raise VtcError(f"{out}: the browser wrote no picture; {MEND}")
    return out


def _run(arguments: Sequence[str]) -> str:
    browser = find()
    if not browser:
        raise VtcError("no browser on PATH; install one with: make browser")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [str(browser), *HEADLESS, f"--user-data-dir={profile}", *arguments]
        try:
            done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise VtcError(f"{browser}: {error}; {MEND}") from error
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
        raise VtcError(f"{browser}: ended with status {done.returncode} ({lines[-1]}); {MEND}")
    return done.stdout.decode(errors="replace")


def _apt(arguments: Sequence[str], folder: Path | None = None) -> str:
    """Run apt-get without questions; its output."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            ["apt-get", "-q", *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
    except OSError as error:
        raise VtcError(f"apt-get: {error}; {MEND}") from error
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise VtcError(f"apt-get {' '.join(arguments)}: {lines[-1]}; {MEND}")
    return done.stdout


def _unpack() -> None:
    """Debian's package and what it needs, fetched and unpacked without root; `run` starts it with its own libraries."""
    folder = unpacked()
    lists, root = folder / "lists", folder / "root"
    try:
        for path in (lists / "partial", root, folder / "packages"):
            path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VtcError(explain(error, folder)) from error
    own = ["-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={folder}", "-o", "Debug::NoLocking=1"]
    _apt([*own, "update"])
    plan = _apt([*own, "-s", "install", "--no-install-recommends", PACKAGE])
    needed = [line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")]
    _apt([*own, "download", *needed], folder / "packages")
    for package in sorted((folder / "packages").glob("*.deb")):
        try:
            subprocess.run(["dpkg-deb", "-x", str(package), str(root)], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise VtcError(f"{package}: could not be unpacked ({error}); {MEND}") from error
        package.unlink()
    libraries = ":".join(sorted({str(path.parent) for path in root.glob("usr/lib/**/*.so*")} | {f"{root}/usr/lib"}))
    with atomic_write(folder / "fonts.conf") as stream:
        stream.write(FONTS.format(fonts=root / "usr/share/fonts", cache=folder / "fontcache").encode())
    with atomic_write(folder / "run") as stream:
        stream.write(
            f'#!/bin/sh\nexport LD_LIBRARY_PATH="{libraries}" FONTCONFIG_FILE="{folder}/fonts.conf"\n'
            f'exec "{root}/usr/lib/chromium/chromium" "$@"\n'.encode()
        )
    (folder / "run").chmod(0o755)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see the module's docstring."""
    argparse.ArgumentParser(
        prog="python -m eval.browser",
        description="Print the path of a browser for looking at reports; install one if there is none.",
        epilog="example: python -m eval.browser",
    ).parse_args(arguments)
    try:
        print(ensure())
    except VtcError as error:
        print(f"eval.browser: {error}", file=sys.stderr)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
