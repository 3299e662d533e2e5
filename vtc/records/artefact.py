"""Artefact files: safetensors with a JSON header, a content hash, and atomic writes. Never pickle.

An artefact is what the workbenches make and `vtc` loads (atlas, glyph table, priors, codebooks). Its header holds at
least `kind`, `version` and `sha256`, the hash of its tensors (names, dtypes, shapes, bytes in name order).
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from vtc.records.errors import VtcError

HEADER = "vtc"


@contextmanager
def atomic_write(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a temporary sibling of `path` for writing; move it into place only if the block succeeds.

    Until then `path` keeps its old content, and a failure removes the temporary file.

    Raises:
        VtcError: the directory is missing, read-only or full.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(temporary, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise VtcError(explain(error, path)) from error
    finally:
        temporary.unlink(missing_ok=True) if path.parent.is_dir() else None


def explain(error: OSError, path: str | Path) -> str:
    """One line for an operating-system error on `path`, with the mend where there is a usual one."""
    mends = {
        errno.ENOENT: "no such file or directory; check the path",
        errno.EACCES: "permission denied; choose a place that you may use",
        errno.EROFS: "the file system is read-only; choose another place",
        errno.ENOSPC: "the disk is full; free some space or choose another place",
        errno.EISDIR: "is a directory; name a file",
        errno.ENOTDIR: "a part of the path is not a directory",
    }
    reason = mends.get(error.errno or 0, error.strerror or str(error))
    return f"{path}: {reason}"


def content_hash(tensors: dict[str, np.ndarray]) -> str:
    """SHA-256 over names, dtypes, shapes and bytes, in name order (hex)."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        array = np.ascontiguousarray(tensors[name])
        digest.update(f"{name}|{array.dtype.str}|{array.shape}|".encode())
        digest.update(array.view(np.uint8).reshape(-1).data if array.size else b"")
    return digest.hexdigest()


def save_artefact(path: str | Path, kind: str, tensors: dict[str, np.ndarray], meta: dict[str, Any]) -> str:
    """Write one artefact atomically and return its content hash.

    Args:
        path: target file; parent directories are made.
        kind: what it is, for example "atlas"; `load_artefact` refuses another kind.
        tensors: name -> array. Bytes go in as uint8 arrays.
        meta: JSON-able description; `kind` and `sha256` are added.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VtcError(explain(error, path.parent)) from error
    tensors = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    header = {**meta, "kind": kind, "sha256": content_hash(tensors)}
    blob = save(tensors, metadata={HEADER: json.dumps(header, sort_keys=True)})
    with atomic_write(path) as stream:
        stream.write(blob)
    return header["sha256"]


def read_header(path: str | Path, kind: str) -> dict[str, Any]:
    """The JSON header of an artefact of this `kind`, tensors unread.

    Raises:
        VtcError: missing, truncated, foreign or of another kind.
    """
    path = Path(path)
    try:
        with open(path, "rb"):  # safetensors' own errors lack the errno that tells what is wrong
            pass
        with safe_open(path, framework="numpy") as archive:
            header = json.loads((archive.metadata() or {}).get(HEADER, "null"))
    except OSError as error:
        raise VtcError(explain(error, path)) from error
    except (SafetensorError, ValueError) as error:
        raise VtcError(f"{path}: not a vtc {kind} or damaged ({error}); build or fetch it again") from error
    if not isinstance(header, dict) or header.get("kind") != kind:
        raise VtcError(f"{path}: is not a vtc {kind}; name a file made for that")
    return header


def load_artefact(path: str | Path, kind: str, names: list[str] | None = None) -> tuple[dict[str, np.ndarray], dict]:
    """Tensors and header of an artefact. All tensors are hashed and compared unless `names` picks some of them.

    Raises:
        VtcError: as `read_header`, or the content hash differs.
    """
    header = read_header(path, kind)
    try:
        with safe_open(path, framework="numpy") as archive:
            tensors = {name: archive.get_tensor(name) for name in (names or archive.keys())}
    except (SafetensorError, OSError) as error:
        raise VtcError(f"{path}: damaged {kind} ({error}); build or fetch it again") from error
    if names is None and content_hash(tensors) != header.get("sha256"):
        raise VtcError(f"{path}: its content does not match its hash; build or fetch it again")
    return tensors, header
