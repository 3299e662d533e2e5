"""What becomes of the entries that a head does not keep."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn.functional import normalize

TINY = 1e-12


def nearest(
    keys: torch.Tensor, values: torch.Tensor, weight: torch.Tensor, kept: torch.Tensor, most: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Every dropped entry joins the kept one whose key has the nearest direction.

    A cluster's value is the mean of its values by their mean attention; its bias is the log of the cluster's attention
    over the kept entry's own, since it is looked at for all of them.

    Args:
        keys, values: [n, d] of one head.
        weight: [n], mean attention.
        kept: bool [n].
        most: largest bias.

    Returns:
        Values [m, d] and biases [m] of the m kept entries.
    """
    own, others = weight[kept].clamp_min(TINY), weight[~kept]
    if not len(others):
        return values[kept], torch.zeros_like(own)
    place = (normalize(keys[~kept], dim=-1) @ normalize(keys[kept], dim=-1).T).argmax(1)  # [n - m]
    total = own.clone().index_add_(0, place, others)
    sums = (values[kept] * own[:, None]).index_add_(0, place, values[~kept] * others[:, None])
    return sums / total[:, None], (total / own).log().clamp(0, most)


def mass(
    keys: torch.Tensor, values: torch.Tensor, weight: torch.Tensor, kept: torch.Tensor, most: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """They are gone, and those that stay share the attention that went to them: one bias for the head."""
    own = weight[kept]
    bias = (weight.sum() / own.sum().clamp_min(TINY)).log().clamp(0, most)
    return values[kept], bias.expand_as(own)


def drop(
    keys: torch.Tensor, values: torch.Tensor, weight: torch.Tensor, kept: torch.Tensor, most: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """They are gone."""
    return values[kept], torch.zeros_like(weight[kept])


MERGES: dict[str, Callable[..., tuple[torch.Tensor, torch.Tensor]]] = {"mass": mass, "nearest": nearest, "drop": drop}
