"""Position binding: which coordinates, signs and power each position of a tile gets in the latent.

A symbol's feature f (unit, [rank]) at position i of a tile is multiplied by fixed signs, cut into blocks that go to
fixed random places of the latent, and scaled by an amplitude a_i; the latent is the sum. Each binding is an isometry,
and two positions interfere like random vectors of the full width: where their blocks meet, the signs decorrelate them.
This is a sparse superposition code (Joseph and Barron 2012); letting the power fall exponentially over the positions is
what brings such codes from the threshold of flat power towards capacity (Rush, Greig and Venkataramanan 2017).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from vtc.records.noise import signs

BLOCK = 32  # neighbouring coordinates of a feature that stay together


@lru_cache(maxsize=8)
def block_table(positions: int, per_feature: int, blocks: int) -> torch.Tensor:
    """Which blocks of a latent hold a feature's at each position: int64 [positions, per_feature], fixed for ever."""
    stream = hashlib.shake_256(f"vtc binding blocks 1 {blocks}".encode()).digest(8 * positions * blocks)
    keys = np.frombuffer(stream, "<u8").reshape(positions, blocks)
    return torch.from_numpy(keys.argsort(1, kind="stable")[:, :per_feature].copy())


def amplitudes(length: int, decay: float) -> torch.Tensor:
    """Amplitudes, float32 [length]: power falls exponentially by `decay` dB from first to last, with mean power 1."""
    power = 10.0 ** (-decay / 10 * torch.arange(length, dtype=torch.float64) / max(length - 1, 1))
    return (power * (length / power.sum())).sqrt().float()


@dataclass(frozen=True)
class Binding:
    """The binding of tiles of up to `positions` symbols into latents of `width`."""

    width: int
    """Coordinates of a latent; a multiple of 64."""
    rank: int
    """Coordinates of a feature; a multiple of 64, at most `width`."""
    positions: int
    """Longest tile."""

    @property
    def blocks(self) -> int:
        """Blocks of a latent."""
        return self.width // BLOCK

    def signs(self) -> torch.Tensor:
        """Fixed signs, float32 [positions, rank] of +-1."""
        return torch.from_numpy(signs("binding signs 1", (self.positions, self.rank)))

    def rows(self, tile: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        """Rows of a latent batch seen as [T * blocks, BLOCK] that hold each symbol: int64 [n, rank / BLOCK]."""
        table = block_table(self.positions, self.rank // BLOCK, self.blocks)
        return tile[:, None] * self.blocks + table[position]

    def gather(self, latents: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """What latents [T, width] hold at the symbols' places: [n, rank], signs not yet undone."""
        return latents.reshape(-1, BLOCK)[rows.reshape(-1)].view(-1, self.rank)

    def fold(self, signed: torch.Tensor, rows: torch.Tensor, tiles: int) -> torch.Tensor:
        """Sum bound vectors into latents; the transpose of `gather`.

        Args:
            signed: [n, rank] features times amplitude times the position's signs.
            rows: see `rows`.
            tiles: number of latents T.

        Returns:
            latents [T, width].
        """
        out = torch.zeros(tiles * self.blocks, BLOCK, dtype=signed.dtype)
        parts = signed.reshape(-1, BLOCK)
        return out.scatter_add_(0, rows.reshape(-1, 1).expand_as(parts), parts).view(tiles, self.width)
