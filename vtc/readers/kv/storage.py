"""Compacted caches as bytes, and back: ragged as they are, nothing padded, never pickle.

The bytes are safetensors. Caches of one model share its layers' shapes, so each layer is one set of flat tensors over
all caches, in order, and within a cache over its KV heads:

    head               JSON: `version`, `form`, `layers`, and `seen`, the tokens of each cache
    counts.L           uint32 [caches, KV]: entries of each head of layer L
    keys.L, values.L   [n, d]: float32, float16 or int8
    scales.L           float16 [2, n]: of keys and of values, under int8 alone
    index.L            uint16 or uint32 [n]: positions, each less the one before it in its head
    bias.L, runs.L     float32 [r] and uint32 [r]: biases, and how many entries in a row share one
    beside.NAME        whatever else goes with them

A head's entries share one bias a page, so that biases cost next to nothing in any precision.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.numpy import load, save

from vtc.readers.kv.cache import CompactCache, Kept
from vtc.readers.memory import check_form
from vtc.records.errors import UsageError, VtcError

if TYPE_CHECKING:
    from vtc.llm.frozen import FrozenLM

VERSION = 1
BESIDE = "beside."
TINY = float(np.finfo(np.float16).smallest_subnormal)


def pack(
    caches: Sequence[CompactCache], form: str = "float16", beside: Mapping[str, np.ndarray] | None = None
) -> bytes:
    """Caches of one model, at least one, as bytes; what was read on top of them is left out.

    Args:
        form: of keys and values: float32, float16, or int8 with one float16 scale a vector.
        beside: further arrays, which `unpack_beside` gives back.

    Raises:
        UsageError: an unknown form, or one whose range the numbers exceed.
    """
    check_form(form)
    layers = list(zip(*(cache.kept for cache in caches), strict=True))  # [layers][caches]
    head = {
        "version": VERSION,
        "form": form,
        "layers": len(layers),
        "seen": [cache.layers[0].seen for cache in caches],
    }
    tensors = {"head": np.frombuffer(json.dumps(head).encode(), np.uint8)}
    for number, parts in enumerate(layers):
        for name, array in pack_layer(parts, form).items():
            tensors[f"{name}.{number}"] = array
    for name, array in (beside or {}).items():
        tensors[BESIDE + name] = array
    return save(tensors)


def unpack_beside(blob: bytes) -> dict[str, np.ndarray]:
    """What `pack` was given beside the caches.

    Raises:
        VtcError: other bytes.
    """
    try:
        return {name[len(BESIDE) :]: array for name, array in load(blob).items() if name.startswith(BESIDE)}
    except SafetensorError as error:
        raise VtcError(f"not latents of reader 'kv' ({error}); compress the text again") from error


def unpack(blob: bytes, llm: FrozenLM) -> list[CompactCache]:
    """Inverse of `pack`, in the model's own precision and on its device.

    Raises:
        VtcError: other bytes, or latents of a model of another shape.
    """
    try:
        tensors = load(blob)
        head = json.loads(tensors["head"].tobytes())
        if head["version"] != VERSION:
            raise VtcError(f"latents of format {head['version']} and this program reads {VERSION}; upgrade vtc-llm")
        layers = [unpack_layer(tensors, number, head["form"], llm) for number in range(head["layers"])]
    except (SafetensorError, KeyError, ValueError, RuntimeError) as error:
        raise VtcError(f"not latents of reader 'kv' ({error}); compress the text again") from error
    expected = llm.model.config.get_text_config().num_hidden_layers
    if len(layers) != expected:
        raise VtcError(
            f"latents of a model with {len(layers)} layers, and {llm.name} has {expected}; name the model that made "
            "them, or compress the text again"
        )
    return [CompactCache(kept, seen) for kept, seen in zip(zip(*layers, strict=True), head["seen"], strict=True)]


def pack_layer(parts: Sequence[Kept], form: str) -> dict[str, np.ndarray]:
    """One layer of all caches, as the module's docstring says."""
    counts = np.array([part.counts for part in parts], np.uint32)  # [caches, KV]
    vectors = torch.stack([torch.cat([getattr(part, name) for part in parts]).float() for name in ("keys", "values")])
    stored = quantised(vectors.cpu().numpy(), form)
    places = torch.cat([part.index for part in parts]).cpu().numpy().astype(np.int64)
    bias = torch.cat([part.bias for part in parts]).float().cpu().numpy()
    changes = np.flatnonzero(np.diff(bias, prepend=np.nan) != 0)  # where a run begins; the first always differs
    return {
        "counts": counts,
        "keys": stored[0],
        "values": stored[1],
        **({"scales": stored[2]} if len(stored) == 3 else {}),
        "index": steps_of(places, counts.ravel()),
        "bias": bias[changes],
        "runs": np.diff(changes, append=len(bias)).astype(np.uint32),
    }


def unpack_layer(tensors: dict[str, np.ndarray], number: int, form: str, llm: FrozenLM) -> list[Kept]:
    """One layer of each cache."""
    part = {name: tensors[f"{name}.{number}"] for name in ("counts", "keys", "values", "index", "bias", "runs")}
    counts = part["counts"].astype(np.int64)
    kind = {"dtype": llm.embeddings.dtype, "device": llm.device}
    keys, values = (torch.from_numpy(part[name]).to(**kind) for name in ("keys", "values"))
    if form == "int8":
        scales = torch.from_numpy(tensors[f"scales.{number}"]).to(**kind)
        keys, values = keys * scales[0][:, None], values * scales[1][:, None]
    bias = torch.from_numpy(np.repeat(part["bias"], part["runs"])).to(**kind)
    places = torch.from_numpy(places_of(part["index"], counts.ravel())).to(llm.device)
    sizes = counts.sum(1).tolist()
    parts = zip(*(tensor.split(sizes) for tensor in (keys, values, bias, places)), counts.tolist(), strict=True)
    return [Kept(keys, values, bias, places, tuple(row)) for keys, values, bias, places, row in parts]


def quantised(vectors: np.ndarray, form: str) -> tuple[np.ndarray, ...]:
    """Keys and values, float32 [2, n, d], as two arrays of a form, and under int8 their scales, float16 [2, n].

    Raises:
        UsageError: a number is beyond the form's range.
    """
    if form == "float32":
        return tuple(vectors)
    largest = np.abs(vectors).max(-1, initial=0)  # [2, n]
    limit = float(np.finfo(np.float16).max) * (127 if form == "int8" else 1)
    if not bool((largest <= limit).all()):  # not-a-number fails too
        raise UsageError(f"--latents {form}: a latent of this model is beyond its range; use --latents float32")
    if form == "float16":
        return tuple(vectors.astype(np.float16))
    scales = np.maximum(largest / 127, TINY).astype(np.float16)
    levels = np.rint(vectors / scales.astype(np.float32)[..., None])
    return *np.clip(levels, -127, 127).astype(np.int8), scales


def steps_of(places: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Positions int64 [n] of heads with `counts` entries, each less the one before it in its head, modulo 2**32."""
    steps = np.diff(places, prepend=0)
    first = first_of(counts)
    steps[first] = places[first]
    steps %= 1 << 32  # places may also go down
    return steps.astype(np.uint16 if steps.max(initial=0) < 1 << 16 else np.uint32)


def places_of(steps: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Inverse of `steps_of`: int32 [n]."""
    total = np.cumsum(steps, dtype=np.int64)
    first = first_of(counts)
    before = np.repeat(total[first] - steps[first].astype(np.int64), counts[counts > 0])
    return ((total - before) % (1 << 32)).astype(np.uint32).view(np.int32)


def first_of(counts: np.ndarray) -> np.ndarray:
    """Where the entries of every head begin that has any."""
    return (np.cumsum(counts) - counts)[counts > 0].astype(np.int64)
