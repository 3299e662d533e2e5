"""From what a user names (the default LLM, a local folder, a hub id) to a folder on disk.

A hub id is looked up in the local hub cache first and fetched only when something is missing there.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

from vtc.llm import smollm2
from vtc.records.errors import VtcError

DEFAULT = smollm2.NAME

SETTINGS = ["*.json", "*.jinja", "*.txt", "*.model"]
WEIGHTS = ["*.safetensors"]


def locate(spec: str | Path, weights: bool = True) -> Path:
    """Folder that holds the model `spec`.

    Args:
        spec: "smollm2-135m" (fetched and converted on first use), a folder, or a hub id such as "owner/name".
        weights: whether safetensors are needed too; the vocabulary alone does not need them.

    Raises:
        VtcError: there is no such model, or it cannot be fetched.
    """
    if str(spec) == DEFAULT:
        return smollm2.ensure()
    if os.path.isdir(spec):  # unlike Path(""), the empty name is no folder
        return Path(spec)
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", str(spec)) or str(spec).startswith("."):
        raise VtcError(f"{spec}: no such folder; name {DEFAULT!r}, a model's folder or a hub id (owner/name)")
    return from_hub(str(spec), weights)


def name_of(spec: str | Path) -> str:
    """Short name for messages and document headers: the folder's own name, or the spec as it is."""
    return Path(spec).resolve().name if os.path.isdir(spec) else str(spec)


def from_hub(spec: str, weights: bool) -> Path:
    """Snapshot folder of a hub id, fetched if the local hub cache lacks a part of it."""
    from huggingface_hub import snapshot_download  # slow to import and needed for hub ids only
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError
    from huggingface_hub.utils.tqdm import disable_progress_bars

    wanted = SETTINGS + (WEIGHTS if weights else [])
    try:
        folder = Path(snapshot_download(spec, allow_patterns=wanted, local_files_only=True))
        if complete(folder, weights):
            return folder
    except (LocalEntryNotFoundError, HFValidationError):
        pass
    print(f"fetching {spec} from the hub (once) ..", file=sys.stderr, flush=True)
    disable_progress_bars()
    try:
        return Path(snapshot_download(spec, allow_patterns=wanted))
    except Exception as error:  # any of a dozen network, access and validation errors, of three libraries
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise VtcError(f"{spec}: cannot be fetched ({reason}); check the name, or run once with a network") from error


def complete(folder: Path, weights: bool) -> bool:
    """Whether a snapshot has its tokenizer and, if `weights`, every shard of its safetensors."""
    if not (folder / "tokenizer.json").is_file():
        return False
    index = folder / "model.safetensors.index.json"
    if not weights or not index.is_file():
        return not weights or any(folder.glob("*.safetensors"))
    shards = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    return all((folder / shard).is_file() for shard in shards)
