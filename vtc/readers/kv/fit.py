"""New values for the kept entries, so that attention gives what it gave with all of them (arXiv 2602.16284)."""

from __future__ import annotations

from collections.abc import Callable

import torch


def ridge(weights: torch.Tensor, target: torch.Tensor, values: torch.Tensor, strength: float) -> torch.Tensor:
    """Least squares of `weights` [rows, m] @ values = `target` [rows, d], drawn towards `values` [m, d].

    The pull is `strength` rows for each entry, the same for all: relative to an entry's own energy, it would let go of
    those that are looked at rarely, and they hold the details.
    """
    gram = weights.T @ weights
    gram.diagonal().add_(strength)
    factor: torch.Tensor = torch.linalg.cholesky(gram)
    return torch.cholesky_solve(weights.T @ target + strength * values, factor)


def keep(weights: torch.Tensor, target: torch.Tensor, values: torch.Tensor, strength: float) -> torch.Tensor:
    """The values as they are."""
    return values


FITS: dict[str, Callable[..., torch.Tensor]] = {"ridge": ridge, "keep": keep}
