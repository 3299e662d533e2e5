"""How much each entry of a document matters to the queries that were observed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from vtc.readers.kv.observe import Layer


@dataclass(frozen=True)
class Weights:
    """Attention of one layer's observed queries on the document."""

    energy: torch.Tensor
    """[KV, n]: mean squares of the weight over rows, summed over both kinds of queries."""
    peak: torch.Tensor
    """[KV, n]: largest weight."""
    mean: torch.Tensor
    """[KV, n]: mean weight."""
    output: torch.Tensor
    """[KV, rows of both kinds, d]: what attention gave, with what stands before the document."""


def weigh(layer: Layer, before: int) -> Weights:
    """Attention weights of the observed queries on the document after `before` others.

    Those take their share: most heads rest on the first tokens of all, and a head that hardly looks at the document
    needs little of it.
    """
    weights = attended(layer, layer.queries.flatten(1, 2), layer.keys, layer.unseen)
    own = weights[..., before:]
    energy = own.unflatten(1, (2, -1)).square().mean(2).sum(1)
    return Weights(energy, own.amax(1), own.mean(1), weights @ layer.values.float())


def attended(
    layer: Layer,
    queries: torch.Tensor,
    keys: torch.Tensor,
    unseen: torch.Tensor | None,
    bias: torch.Tensor | float = 0.0,
) -> torch.Tensor:
    """Softmax of queries [.., rows of both kinds, d] over keys [.., m, d]: [.., rows of both kinds, m].

    Args:
        unseen: bool [2, rows, m]; a query that sees nothing has no weight anywhere.
        bias: added to the scores, [m].
    """
    scores = (queries @ keys.transpose(-1, -2)).float() * layer.scaling + bias
    if unseen is None:
        return scores.softmax(-1)
    return scores.masked_fill(unseen.flatten(0, 1), float("-inf")).softmax(-1).nan_to_num()


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
