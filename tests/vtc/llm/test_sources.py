"""From names to folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from vtc.llm.sources import complete, locate, name_of
from vtc.records.errors import VtcError


def test_a_folder_is_itself(tmp_path: Path) -> None:
    assert locate(tmp_path) == tmp_path
    assert name_of(tmp_path / ".") == tmp_path.name
    assert name_of("owner/name") == "owner/name"


@pytest.mark.parametrize("spec", ["no-such-model", "./no/such", "a/b/c", "/no/such/folder", ""])
def test_what_is_neither_folder_nor_hub_id_is_named(spec: str) -> None:
    with pytest.raises(VtcError, match="no such folder"):
        locate(spec)


def test_a_snapshot_needs_its_tokenizer_and_every_shard(tmp_path: Path) -> None:
    assert not complete(tmp_path, weights=False)
    (tmp_path / "tokenizer.json").write_text("{}")
    assert complete(tmp_path, weights=False)
    assert not complete(tmp_path, weights=True)
    (tmp_path / "a.safetensors").write_bytes(b"")
    assert complete(tmp_path, weights=True)
    index = {"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert not complete(tmp_path, weights=True)


def run_locate(spec: str, hub: Path) -> subprocess.CompletedProcess[str]:
    """`locate` in a new interpreter whose hub cache is `hub` and that may not use a network."""
    code = (
        "import sys; from vtc.llm.sources import locate; from vtc.records.errors import VtcError\n"
        "try: print(locate(sys.argv[1]))\nexcept VtcError as error: print('error:', error)"
    )
    environment = {**os.environ, "HF_HUB_CACHE": str(hub), "HF_HUB_OFFLINE": "1"}
    return subprocess.run(
        [sys.executable, "-c", code, spec], env=environment, capture_output=True, text=True, check=True
    )


def test_a_hub_id_comes_from_the_hub_cache(tmp_path: Path) -> None:
    model = tmp_path / "models--owner--name"
    snapshot = model / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("0" * 40)
    for name in ("tokenizer.json", "model.safetensors"):
        (snapshot / name).write_text("{}")
    assert run_locate("owner/name", tmp_path).stdout.strip() == str(snapshot)


def test_a_hub_id_without_network_is_one_line(tmp_path: Path) -> None:
    done = run_locate("owner/name", tmp_path)
    assert done.stdout.startswith("error: owner/name: cannot be fetched (")
    assert done.stdout.count("\n") == 1
    assert done.stderr == "fetching owner/name from the hub (once) ..\n"
