"""How much each entry of a page matters to the queries that were observed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from vtc.readers.kv.observe import Layer

USUAL = 4.0


@dataclass(frozen=True)
class Weights:
    """Attention of one layer's observed queries on the page."""

    energy: torch.Tensor
    """[KV, kinds, group, n]: mean squares of the weight over the rows of each kind and query head."""
    peak: torch.Tensor
    """[KV, n]: largest weight."""
    mean: torch.Tensor
    """[KV, n]: mean weight."""
    output: torch.Tensor
    """[KV, kinds, group, rows, d]: what attention gave, with what stands before the page."""


def weigh(layer: Layer) -> Weights:
    """Attention weights of the observed queries on the page.

    What stands before it takes its share: most heads rest on the first tokens of all, and a head that hardly looks at
    the page needs little of it.
    """
    found = []
    n = layer.keys.shape[1]
    for head, (keys, values, bias, index) in enumerate(layer.before.heads()):
        stood = len(keys)
        keys, values = torch.cat([keys, layer.keys[head]]), torch.cat([values, layer.values[head]]).float()
        places = torch.cat([index, layer.first + torch.arange(n, device=index.device)])
        bias = torch.cat([bias.float(), torch.zeros(n, device=bias.device)])
        kinds = []
        for queries, at in zip(layer.queries[head], layer.places, strict=True):
            for rows in queries:  # one query head at a time stays in the processor's cache
                weights = attended(layer, rows, at[0], keys, places, bias)  # [rows, m + n]
                own = weights[:, stood:]
                energy = torch.linalg.vector_norm(own, dim=0).square() / len(own)
                kinds.append((energy, own.amax(0), own.mean(0), weights @ values))
        energies, peaks, means, outputs = (torch.stack(parts) for parts in zip(*kinds, strict=True))
        shape = (layer.queries.shape[1], -1)
        found.append((energies.unflatten(0, shape), peaks.amax(0), means.mean(0), outputs.unflatten(0, shape)))
    return Weights(*(torch.stack(parts) for parts in zip(*found, strict=True)))


def attended(
    layer: Layer, queries: torch.Tensor, at: torch.Tensor, keys: torch.Tensor, places: torch.Tensor, bias: torch.Tensor
) -> torch.Tensor:
    """Softmax of queries [.., rows, d] over keys [m, d]: [.., rows, m].

    Args:
        at: positions of the queries, [.., rows].
        places: positions of the keys, [m].
        bias: added to the scores, [m].

    Returns:
        A query that is too far away from all keys has no weight anywhere.
    """
    scores = (queries @ keys.T).float().mul_(layer.scaling).add_(bias)
    if layer.window is None:
        return scores.softmax(-1)
    return scores.masked_fill_(at[..., None] - places >= layer.window, float("-inf")).softmax(-1).nan_to_num_()


def loss(weights: Weights, value_loss: torch.Tensor) -> torch.Tensor:
    """Root of what the predictions lose without the entry, in the mean over queries.

    The queries of the second pass look up single details and those of the first attend as any text does; the mean of
    the first counts `USUAL` times, or few entries would be left for what most tokens need.
    """
    kinds = torch.tensor([USUAL, 1.0], device=value_loss.device)
    return torch.einsum("s,ksgn,kgn->kn", kinds, weights.energy, value_loss).sqrt()


def energy(weights: Weights, value_loss: torch.Tensor) -> torch.Tensor:
    """Root mean square of the weight, whatever the value is."""
    return weights.energy.mean((1, 2)).sqrt()


def peak(weights: Weights, value_loss: torch.Tensor) -> torch.Tensor:
    """Largest weight alone, as KVzip (arXiv 2505.23416) scores."""
    return weights.peak


def mean(weights: Weights, value_loss: torch.Tensor) -> torch.Tensor:
    """Mean weight, the heavy hitters of H2O (arXiv 2306.14048)."""
    return weights.mean


SCORES: dict[str, Callable[[Weights, torch.Tensor], torch.Tensor]] = {
    "loss": loss,
    "energy": energy,
    "peak": peak,
    "mean": mean,
}
