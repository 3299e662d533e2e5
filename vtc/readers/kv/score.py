"""How much each entry of a page matters to the queries that were observed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from vtc.readers.kv.observe import Layer


@dataclass(frozen=True)
class Weights:
    """Attention of one layer's observed queries on the page."""

    energy: torch.Tensor
    """[KV, n]: mean squares of the weight over rows, summed over both kinds of queries."""
    peak: torch.Tensor
    """[KV, n]: largest weight."""
    mean: torch.Tensor
    """[KV, n]: mean weight."""
    output: torch.Tensor
    """[KV, rows of both kinds, d]: what attention gave, with what stands before the page."""


def weigh(layer: Layer) -> Weights:
    """Attention weights of the observed queries on the page.

    What stands before it takes its share: most heads rest on the first tokens of all, and a head that hardly looks at
    the page needs little of it.
    """
    found = []
    for head, (keys, values, bias, index) in enumerate(layer.before.heads()):
        every = torch.cat([keys, layer.keys[head]])
        places = torch.cat([index, layer.first + torch.arange(layer.keys.shape[1], device=index.device)])
        extra = torch.cat([bias.float(), torch.zeros(layer.keys.shape[1], device=bias.device)])
        weights = attended(layer, head, every, places, extra)  # [2 * rows, m + n]
        own = weights[:, len(keys) :]
        energy = own.unflatten(0, (2, -1)).square().mean(1).sum(0)
        output = weights @ torch.cat([values, layer.values[head]]).float()
        found.append((energy, own.amax(0), own.mean(0), output))
    return Weights(*(torch.stack(parts) for parts in zip(*found, strict=True)))


def attended(layer: Layer, head: int, keys: torch.Tensor, places: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Softmax of all queries of a KV head over keys [m, d] with positions and biases [m]: [rows of both kinds, m].

    A query that is too far away from all of them has no weight anywhere.
    """
    scores = (layer.queries[head].flatten(0, 1) @ keys.T).float().mul_(layer.scaling).add_(bias)
    if layer.window is None:
        return scores.softmax(-1)
    unseen = layer.places[:, None] - places >= layer.window
    return scores.masked_fill_(unseen, float("-inf")).softmax(-1).nan_to_num_()


def balanced(weights: Weights, reach: torch.Tensor) -> torch.Tensor:
    """Looked at often, or once but decisively, by a value that changes the layer's sum."""
    return (weights.energy.sqrt() * weights.peak).sqrt() * reach.sqrt()


def peak(weights: Weights, reach: torch.Tensor) -> torch.Tensor:
    """Largest weight alone, as KVzip (arXiv 2505.23416) scores."""
    return weights.peak


def mean(weights: Weights, reach: torch.Tensor) -> torch.Tensor:
    """Mean weight, the heavy hitters of H2O (arXiv 2306.14048)."""
    return weights.mean


SCORES: dict[str, Callable[[Weights, torch.Tensor], torch.Tensor]] = {"balanced": balanced, "peak": peak, "mean": mean}
