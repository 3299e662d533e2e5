"""Position binding: which coordinates, signs and power each position of a tile gets in the latent.

A symbol's feature f (unit, [rank]) at position i of a tile is multiplied by fixed signs, placed on `rank` neighbouring coordinates of
the latent (cyclically, starting at a block that depends on i) and scaled by an amplitude a_i; the latent is the sum. Each binding is
an isometry, and two positions interfere like random vectors of the full width: the signs alone decorrelate them. This is a sparse
superposition code (Joseph and Barron 2012); letting the power fall exponentially over the positions is what brings such codes from
the threshold of flat power towards capacity (Rush, Greig and Venkataramanan 2017).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

BLOCK = 64  # coordinates; the starts of the windows are multiples of it


@lru_cache(maxsize=8)
def signs(positions: int, rank: int) -> torch.Tensor:
    """Fixed signs, float32 [positions, rank] of +-1, from SHAKE-256: the same on every machine and in every version."""
    stream = hashlib.shake_256(f"vtc binding 1 rank {rank}".encode()).digest(positions * rank // 8)
    bits = np.unpackbits(np.frombuffer(stream, np.uint8)).reshape(positions, rank)
    return torch.from_numpy(bits.astype(np.float32) * 2 - 1)


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
        """Number of window starts."""
        return self.width // BLOCK

    def signs(self, device: torch.device | str = "cpu") -> torch.Tensor:
        """float32 [positions, rank]."""
        return signs(self.positions, self.rank).to(device)

    def windows(self, latents: torch.Tensor) -> torch.Tensor:
        """View latents [T, width] as windows [T * blocks, rank] (copied); position i of tile t reads row t * blocks + i % blocks."""
        padded = torch.cat([latents, latents[:, : self.rank]], 1)
        return padded.unfold(1, self.rank, BLOCK)[:, : self.blocks].reshape(-1, self.rank)

    def overlap_add(self, windows: torch.Tensor) -> torch.Tensor:
        """Transpose of `windows`: [T * blocks, rank] -> latents [T, width]."""
        parts = windows.view(-1, self.blocks, self.rank // BLOCK, BLOCK)
        latents = parts[:, :, 0].clone()
        for step in range(1, self.rank // BLOCK):
            latents += parts[:, :, step].roll(step, 1)
        return latents.reshape(-1, self.width)

    def fold(self, signed: torch.Tensor, tile: torch.Tensor, position: torch.Tensor, tiles: int) -> torch.Tensor:
        """Sum bound vectors into latents.

        Args:
            signed: [n, rank] features times amplitude times the position's signs.
            tile, position: int64 [n] where each belongs.
            tiles: number of latents T.

        Returns:
            latents [T, width].
        """
        windows = torch.zeros(tiles * self.blocks, self.rank, dtype=signed.dtype, device=signed.device)
        row = tile * self.blocks + position % self.blocks
        windows.scatter_add_(0, row[:, None].expand_as(signed), signed)
        return self.overlap_add(windows)
