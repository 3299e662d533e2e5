"""How many entries each head keeps, and which: [layers, KV heads, n] scores -> the same as a mask."""

from __future__ import annotations

from collections.abc import Callable

import torch


def pooled(scores: torch.Tensor, total: int, always: torch.Tensor) -> torch.Tensor:
    """One top-k over all layers, heads and positions, beside those that are kept `always`.

    Heads differ by orders of magnitude in what they need: most look at a few entries, a few at nearly all.
    """
    rest = max(0, min(total - int(always.sum()), int((~always).sum())))
    chosen = scores.masked_fill(always, float("-inf")).flatten().topk(rest).indices
    mask = always.flatten().clone()
    mask[chosen] = True
    return mask.reshape(scores.shape)


def even(scores: torch.Tensor, total: int, always: torch.Tensor) -> torch.Tensor:
    """The same number for every head."""
    layers, heads, n = scores.shape
    each = max(1, min(n, total // (layers * heads)))
    chosen = scores.masked_fill(always, float("inf")).topk(each, -1).indices
    return torch.zeros_like(always).scatter_(2, chosen, True)


BUDGETS: dict[str, Callable[[torch.Tensor, int, torch.Tensor], torch.Tensor]] = {"pooled": pooled, "even": even}


def floor(scores: torch.Tensor, total: int, share: float, sinks: int) -> torch.Tensor:
    """What is kept whatever the rest does: the first `sinks` entries, and the best of each head up to `share` of an
    even budget. Scores [layers, KV heads, n]."""
    layers, heads, n = scores.shape
    sinks = min(sinks, n)
    each = min(n, max(sinks, int(share * total / (layers * heads))))
    first = torch.zeros_like(scores, dtype=torch.bool)
    first[..., :sinks] = True
    best = scores.masked_fill(first, float("inf")).topk(each, -1).indices
    return first.scatter_(2, best, True)
