"""From a document that was observed to a few entries a head: score, choose, merge, fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from vtc.readers.kv.budget import BUDGETS, floor
from vtc.readers.kv.cache import CompactCache, Kept
from vtc.readers.kv.fit import FITS
from vtc.readers.kv.merge import MERGES
from vtc.readers.kv.observe import Layer, Observed
from vtc.readers.kv.score import SCORES, Weights, attended, weigh
from vtc.records.errors import UsageError
from vtc.records.suggest import unknown

STEPS: Mapping[str, Mapping[str, Any]] = {"score": SCORES, "budget": BUDGETS, "merge": MERGES, "fit": FITS}


@dataclass(frozen=True)
class Recipe:
    """The steps, each a registered piece, and their constants."""

    score: str = "balanced"
    budget: str = "pooled"
    merge: str = "mass"
    fit: str = "ridge"
    sinks: int = 4
    """First entries of the document, kept by every head."""
    share: float = 0.1
    """Of an even budget, what every head keeps at least."""
    bias: float = 2.0
    """Largest bias of an entry, nats."""
    strength: float = 3.0
    """Pull of the fit towards the values before it, rows."""

    def __post_init__(self) -> None:
        for step, registry in STEPS.items():
            if getattr(self, step) not in registry:
                raise UsageError(unknown(step, getattr(self, step), registry))
        if self.sinks < 0 or not 0 <= self.share <= 1 or self.bias < 0 or self.strength <= 0:
            raise UsageError("sinks and bias must be at least 0, share from 0 to 1, strength above 0")


@torch.inference_mode()
def compact(seen: Observed, ratio: float, recipe: Recipe) -> CompactCache:
    """Keep 1 / ratio of the document's scalars, biases counted; what stands before it stays whole."""
    weights = [weigh(layer, seen.opening) for layer in seen.layers]
    pairs = zip(weights, seen.layers, strict=True)
    scores = torch.stack([SCORES[recipe.score](found, layer.reach) for found, layer in pairs])  # [layers, KV, n]
    d = seen.layers[0].keys.shape[-1]
    total = int(scores.numel() / ratio * 2 * d / (2 * d + 1))  # an entry has a bias beside its key and value
    mask = torch.ones_like(scores, dtype=torch.bool)
    if ratio > 1:
        mask = BUDGETS[recipe.budget](scores, total, floor(scores, total, recipe.share, recipe.sinks))
    kept = [
        kept_of(layer, found, chosen, seen.opening, recipe)
        for layer, found, chosen in zip(seen.layers, weights, mask, strict=True)
    ]
    return CompactCache(kept, seen.opening + seen.count)


def kept_of(layer: Layer, weights: Weights, mask: torch.Tensor, opening: int, recipe: Recipe) -> Kept:
    """What one layer keeps; mask bool [KV, n]."""
    heads = []
    for head, chosen in enumerate(mask):
        keys, values = layer.keys[head], layer.values[head].float()
        own, bias = MERGES[recipe.merge](
            keys[opening:], values[opening:], weights.mean[head], chosen, recipe.bias
        )  # values and biases of the entries that stay
        bias = torch.cat([bias.new_zeros(opening), bias])
        places = torch.cat([torch.arange(opening, device=mask.device), opening + chosen.nonzero()[:, 0]])
        if not bool(chosen.all()):
            unseen = None if layer.unseen is None else layer.unseen[..., places]
            look = attended(layer, layer.queries[head].flatten(0, 1), keys[places], unseen, bias)
            rest = weights.output[head] - look[:, :opening] @ values[:opening]
            own = FITS[recipe.fit](look[:, opening:], rest, own, recipe.strength)
        stored = torch.cat([values[:opening], own])
        heads.append((keys[places], stored.to(keys.dtype), bias.to(keys.dtype), places))
    return Kept.of(heads)
