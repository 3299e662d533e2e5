"""Artefact files: what is written comes back, and nothing damaged, foreign or half-written is taken for whole."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from vtc.records import artefact
from vtc.records.artefact import atomic_write, content_hash, load_artefact, read_header, save_artefact
from vtc.records.errors import VtcError

TENSORS = {"rows": np.arange(600, dtype=np.float32).reshape(20, 30), "marks": np.arange(7, dtype=np.uint8)}


def saved(path: Path) -> str:
    return save_artefact(path, "atlas", TENSORS, {"version": 1, "note": "é漢"})


def test_tensors_and_header_come_back(tmp_path: Path) -> None:
    path = tmp_path / "deeper" / "a.safetensors"
    digest = saved(path)
    tensors, header = load_artefact(path, "atlas")
    assert header == {"version": 1, "note": "é漢", "kind": "atlas", "sha256": digest}
    assert tensors.keys() == TENSORS.keys()
    for name, array in TENSORS.items():
        assert tensors[name].dtype == array.dtype
        np.testing.assert_array_equal(tensors[name], array)
    assert list(load_artefact(path, "atlas", ["marks"])[0]) == ["marks"]


def test_two_writes_give_the_same_bytes(tmp_path: Path) -> None:
    saved(tmp_path / "a")
    saved(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_content_hash_is_sha256_of_the_described_bytes() -> None:
    array = np.array([[1, 2, 3]], dtype="<i2")
    expected = hashlib.sha256(b"x|<i2|(1, 3)|" + bytes([1, 0, 2, 0, 3, 0])).hexdigest()
    assert content_hash({"x": array}) == expected


@given(hnp.arrays(st.sampled_from([np.float32, np.int32, np.uint8]), hnp.array_shapes(min_dims=1, min_side=0)))
def test_content_hash_depends_on_values_not_on_memory_order(array: np.ndarray) -> None:
    assert content_hash({"x": array}) == content_hash({"x": np.asfortranarray(array)})
    assert content_hash({"x": array}) != content_hash({"y": array})
    assert content_hash({"x": array}) != content_hash({"x": array[None]})


def test_another_kind_is_refused(tmp_path: Path) -> None:
    saved(tmp_path / "a")
    with pytest.raises(VtcError, match="a: is not a vtc table"):
        load_artefact(tmp_path / "a", "table")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 a zip", b"\xff" * 100, b"plain text, long enough to be read"])
def test_a_foreign_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)
    with pytest.raises(VtcError, match="foreign: not a vtc atlas or damaged") as caught:
        read_header(path, "atlas")
    assert "\n" not in str(caught.value)


def test_a_safetensors_file_of_another_program_is_refused(tmp_path: Path) -> None:
    header = json.dumps({"x": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}}).encode()
    (tmp_path / "model").write_bytes(struct.pack("<Q", len(header)) + header + b"ab")
    with pytest.raises(VtcError, match="model: is not a vtc atlas"):
        load_artefact(tmp_path / "model", "atlas")


def test_missing_file_and_directory_are_named(tmp_path: Path) -> None:
    with pytest.raises(VtcError, match="none: no such file"):
        load_artefact(tmp_path / "none", "atlas")
    with pytest.raises(VtcError, match=str(tmp_path)):
        load_artefact(tmp_path, "atlas")


def test_every_truncation_is_detected(tmp_path: Path) -> None:
    saved(tmp_path / "a")
    whole = (tmp_path / "a").read_bytes()
    for length in [*range(0, len(whole), 97), len(whole) - 1]:
        (tmp_path / "a").write_bytes(whole[:length])
        with pytest.raises(VtcError):
            load_artefact(tmp_path / "a", "atlas")


def test_every_flipped_bit_of_the_tensors_is_detected(tmp_path: Path) -> None:
    saved(tmp_path / "a")
    whole = (tmp_path / "a").read_bytes()
    start = 8 + struct.unpack("<Q", whole[:8])[0]
    for place in range(start, len(whole), 53):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        (tmp_path / "a").write_bytes(damaged)
        with pytest.raises(VtcError, match="a: its content does not match its hash"):
            load_artefact(tmp_path / "a", "atlas")


def test_a_failing_block_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError), atomic_write(path) as stream:
        stream.write(b"new, half wri")
        raise RuntimeError
    assert path.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


def test_a_killed_writer_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    code = (
        "import os, signal, sys\n"
        "from vtc.records.artefact import atomic_write\n"
        "with atomic_write(sys.argv[1]) as stream:\n"
        "    stream.write(b'new' * 100_000); stream.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"


class FullDisk:
    """A stream whose disk has room for the first bytes only."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, data: bytes) -> int:
        self.stream.write(data[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def test_a_full_disk_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(tmp_path / "a")
    before = (tmp_path / "a").read_bytes()

    @contextmanager
    def opened(path: Path, mode: str) -> Iterator[FullDisk]:
        with open(path, mode) as stream:
            yield FullDisk(stream)

    monkeypatch.setattr(artefact, "open", opened, raising=False)
    with pytest.raises(VtcError, match="a: the disk is full; free some space"):
        save_artefact(tmp_path / "a", "atlas", {"rows": np.zeros(9, np.float32)}, {})
    monkeypatch.undo()
    assert (tmp_path / "a").read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["a"]


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(VtcError, match="x: no such file or directory"), atomic_write(tmp_path / "none" / "x") as stream:
        stream.write(b"")


def test_a_file_where_a_directory_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(VtcError, match="file"):
        saved(tmp_path / "file" / "a")
