"""Least squares for many layers at once, from sums over rows: one look at the data, in any order, in any number of
processes, gives the same maps up to rounding."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from accelerate import Accelerator


@dataclass
class Moments:
    """Sums of products, float64."""

    gram: torch.Tensor
    """[layers, F, F], of features with features; the last feature is 1."""
    cross: torch.Tensor
    """[layers, F, T], of features with targets."""

    @classmethod
    def none(cls, layers: int, features: int, targets: int) -> Moments:
        """Of no rows."""
        kind = torch.float64
        return cls(
            torch.zeros(layers, features, features, dtype=kind), torch.zeros(layers, features, targets, dtype=kind)
        )

    def add(self, layer: int, features: torch.Tensor, targets: torch.Tensor) -> None:
        """Rows of one layer, [n, F] and [n, T]."""
        rows = features.double().cpu()
        self.gram[layer].addmm_(rows.T, rows)
        self.cross[layer].addmm_(rows.T, targets.double().cpu())

    def reduced(self, accelerator: Accelerator) -> Moments:
        """Of the rows of all processes."""
        sums = (accelerator.reduce(part.to(accelerator.device), "sum").cpu() for part in (self.gram, self.cross))
        return Moments(*sums)

    def solved(self, ridge: float) -> torch.Tensor:
        """Maps, float32 [layers, T, F].

        Args:
            ridge: pull towards no effect, as a share of each feature's variance.
        """
        count = self.gram[:, -1:, -1:]
        mean = self.gram[:, :-1, -1:] / count  # [layers, F - 1, 1]
        level = self.cross[:, -1:] / count  # [layers, 1, T]
        covariance = self.gram[:, :-1, :-1] / count - mean @ mean.mT
        together = self.cross[:, :-1] / count - mean @ level
        spread = covariance.diagonal(dim1=-2, dim2=-1)
        spread.add_(ridge * spread + torch.finfo(torch.float32).tiny)  # a feature that never moves gets no weight
        slope = torch.linalg.solve(covariance, together)  # [layers, F - 1, T]
        return torch.cat([slope, level - mean.mT @ slope], 1).mT.float()
