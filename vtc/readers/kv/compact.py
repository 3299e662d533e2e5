"""From a document that was observed to a few entries a head: score, choose, merge, fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from transformers import DynamicCache

from vtc.llm.frozen import FrozenLM
from vtc.readers.kv.budget import BUDGETS, floor
from vtc.readers.kv.cache import CompactCache, Kept
from vtc.readers.kv.fit import FITS
from vtc.readers.kv.merge import MERGES
from vtc.readers.kv.observe import Layer, observe
from vtc.readers.kv.score import SCORES, Weights, attended, weigh
from vtc.readers.kv.surrogate import inputs, surrogate
from vtc.records.errors import UsageError
from vtc.records.suggest import unknown

PAGE = 1024
"""Tokens that are read, repeated and compacted together, about."""

STEPS: Mapping[str, Mapping[str, Any]] = {"score": SCORES, "budget": BUDGETS, "merge": MERGES, "fit": FITS}


@dataclass(frozen=True)
class Recipe:
    """The steps, each a registered piece, and their constants."""

    score: str = "loss"
    budget: str = "pooled"
    merge: str = "mass"
    fit: str = "ridge"
    sinks: int = 4
    """First entries of the document, kept by every head."""
    share: float = 0.4
    """Of an even budget, what every head keeps at least."""
    bias: float = 2.0
    """Largest bias of an entry, nats."""
    strength: float = 1.0
    """Pull of the fit towards the values before it, rows."""
    details: float = 4.0
    """Rows that a query of the second pass counts in the fit; one of the first counts 1."""
    fast: bool = False
    """There is no second pass; `vtc.readers.kv.surrogate` tells the score "loss" without it."""

    def __post_init__(self) -> None:
        for step, registry in STEPS.items():
            if getattr(self, step) not in registry:
                raise UsageError(unknown(step, getattr(self, step), registry))
        if self.sinks < 0 or not 0 <= self.share <= 1 or self.bias < 0 or min(self.strength, self.details) <= 0:
            raise UsageError("sinks and bias must be at least 0, share from 0 to 1, strength and details above 0")
        if self.fast and self.score != "loss":
            raise UsageError(f"fast: predicts the score 'loss', not {self.score!r}; leave out one of them")


@dataclass(frozen=True)
class Seen:
    """A page that was read and observed, before anything is left out."""

    layers: Sequence[Layer]
    weights: Sequence[Weights]
    length: int
    """Tokens up to its end."""
    scores: torch.Tensor | None = None
    """[layers, KV, n], where a surrogate told them."""


_latest: WeakKeyDictionary[FrozenLM, tuple[Any, Seen]] = WeakKeyDictionary()


@torch.inference_mode()
def opened(llm: FrozenLM, opening: np.ndarray) -> CompactCache:
    """What stands before a document, ids int32 [k >= 1], read and kept whole."""
    # The cache is made here, so that layers with a window keep all that they read.
    cache = llm.prefill(opening, DynamicCache())
    kept = []
    for layer in cache.layers:
        places = torch.arange(len(opening), device=layer.keys.device)
        none = layer.keys.new_zeros(len(opening))
        kept.append(
            Kept.of([(keys, values, none, places) for keys, values in zip(layer.keys[0], layer.values[0], strict=True)])
        )
    return CompactCache(kept, len(opening))


@torch.inference_mode()
def watched(llm: FrozenLM, cache: CompactCache, ids: np.ndarray, rows: int | None = None, fast: bool = False) -> Seen:
    """A page of ids, int32 [n], read on top of a cache, which stays as it was; see `observe` for `rows`."""
    length = cache.get_seq_length() + len(ids)
    if not fast:
        layers = observe(llm, cache, ids, rows)
        return Seen(layers, [weigh(layer) for layer in layers], length)
    teller = surrogate(llm)
    with inputs(llm.model) as hidden:
        layers = observe(llm, cache, ids, rows, repeat=False)
    weights = [weigh(layer) for layer in layers]
    return Seen(layers, weights, length, teller.scores(layers, weights, hidden))


@torch.inference_mode()
def reduced(seen: Seen, ratio: float, recipe: Recipe) -> CompactCache:
    """What was kept before a page, and 1 / ratio of the page's scalars, biases counted."""
    layers, weights = seen.layers, seen.weights
    scores = seen.scores  # [layers, KV, n]
    if scores is None:
        pairs = zip(weights, layers, strict=True)
        scores = torch.stack([SCORES[recipe.score](found, layer.loss) for found, layer in pairs])
    d = layers[0].keys.shape[-1]
    total = int(scores.numel() / ratio * 2 * d / (2 * d + 1))  # an entry has a bias beside its key and value
    mask = torch.ones_like(scores, dtype=torch.bool)
    if ratio > 1:
        mask = BUDGETS[recipe.budget](scores, total, floor(scores, total, recipe.share, recipe.sinks))
    return CompactCache([joined(*parts, recipe) for parts in zip(layers, weights, mask, strict=True)], seen.length)


def extended(
    llm: FrozenLM, cache: CompactCache, ids: np.ndarray, ratio: float, recipe: Recipe, rows: int | None = None
) -> CompactCache:
    """A page of ids, int32 [n], read on top of a cache, compacted, and joined to what the cache holds."""
    return reduced(watched(llm, cache, ids, rows, recipe.fast), ratio, recipe)


def joined(layer: Layer, weights: Weights, mask: torch.Tensor, recipe: Recipe) -> Kept:
    """What one layer kept before, and what it keeps of the page; mask bool [KV, n]."""
    heads = []
    for head, (before, chosen) in enumerate(zip(layer.before.heads(), mask, strict=True)):
        values = layer.values[head].float()
        own, bias = MERGES[recipe.merge](layer.keys[head], values, weights.mean[head], chosen, recipe.bias)
        keys = torch.cat([before[0], layer.keys[head][chosen]])
        bias = torch.cat([before[2].float(), bias])
        places = torch.cat([before[3], layer.first + chosen.nonzero()[:, 0]])
        if not bool(chosen.all()):
            look = attended(layer, layer.queries[head], layer.places, keys, places, bias)  # [kinds, group, rows, m]
            stood = len(before[0])
            rest = weights.output[head] - look[..., :stood] @ before[1].float()
            look[1:] *= recipe.details**0.5
            rest[1:] *= recipe.details**0.5
            own = FITS[recipe.fit](look[..., stood:].flatten(0, 2), rest.flatten(0, 2), own, recipe.strength)
        heads.append((keys, torch.cat([before[1], own.to(keys.dtype)]), bias.to(keys.dtype), places))
    return Kept.of(heads)


def compacted(
    llm: FrozenLM,
    opening: np.ndarray,
    ids: np.ndarray,
    ratio: float,
    recipe: Recipe | None = None,
    page: int = PAGE,
    rows: int | None = None,
) -> CompactCache:
    """A document, ids int32 [n], after its opening, page after page: each sees what was kept of those before it.

    What the last first page showed is kept, so that one document at several ratios is cheap.
    """
    first, *others = np.array_split(ids, max(1, round(len(ids) / page)))
    recipe = recipe or Recipe()
    key = (opening.tobytes(), first.tobytes(), rows, recipe.fast)
    held = _latest.get(llm)
    if held is None or held[0] != key:
        _latest.pop(llm, None)  # frees it before another is made
        held = _latest[llm] = (key, watched(llm, opened(llm, opening), first, rows, recipe.fast))
    cache = reduced(held[1], ratio, recipe)
    for part in others:
        cache = extended(llm, cache, part, ratio, recipe, rows)
    return cache
