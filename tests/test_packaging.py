"""What a user gets: the wheel holds `vtc` alone."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = out.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_only_top_level_name_is_vtc(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"vtc"}


def test_every_source_of_vtc_is_inside(wheel: zipfile.ZipFile) -> None:
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "vtc").rglob("*.py")}
    assert sources <= set(wheel.namelist())
    assert "vtc/py.typed" in wheel.namelist()
    shipped = {f"vtc/data/{path.name}" for path in (ROOT / "vtc" / "data").iterdir()}
    assert len(shipped) >= 3 and shipped <= set(wheel.namelist())
    strays = [name for name in wheel.namelist() if name.endswith((".pyc", ".gz", ".safetensors"))]
    assert [name for name in strays if not name.startswith("vtc/data/")] == []


def test_licence_and_metadata(wheel: zipfile.ZipFile) -> None:
    (info,) = {name.split("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    assert wheel.read(f"{info}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    metadata = message_from_bytes(wheel.read(f"{info}/METADATA"))
    assert metadata["Name"] == "vtc-llm"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.10"
    assert set(metadata.get_all("Provides-Extra") or []) == {"gpu", "render", "eval", "lm-eval", "train", "dev"}
    assert b"vtc = vtc.cli:main" in wheel.read(f"{info}/entry_points.txt")
