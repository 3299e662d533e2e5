"""Soft interference cancellation: the decoder of the hard codec.

A latent is a sum of bound symbols, y = sum_i B_i f(s_i) + noise. Every position sees its own symbol plus the others as interference.
Approximate message passing for sparse superposition codes (Rush, Greig and Venkataramanan 2017) alternates two steps: each position
forms the posterior over symbols from its matched-filter evidence at the noise level re-estimated from the residual, and the posterior
MEANS of all positions are subtracted from the latent, with the Onsager term, which removes from the residual what a position's own
estimate fed back into it. Strong positions settle first; settled ones leave, and those still drowned in interference wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch

from vtc.codecs.binding import Binding
from vtc.codecs.search import SETTLED

DROWNED = 0.5  # signal power over noise variance below which evidence says nothing yet
CLEAN = 3.0  # residual energy over storage noise below which all symbols of a tile must be right


class Search(Protocol):
    """Posterior over symbols from evidence; see `vtc.codecs.search`."""

    prior_mean: torch.Tensor
    """[rank]: mean feature before any evidence."""

    def posterior(
        self, evidence: torch.Tensor, gain: torch.Tensor, rows: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Mean [n, rank], best symbol int64 [n] and its probability [n], for evidence [n, rank] of rows int64 [n].

        A symbol's log-likelihood is gain [n] times the inner product of its feature with the evidence.
        """

    def features(self, symbols: torch.Tensor) -> torch.Tensor:
        """[n, rank] features of symbols int64 [n]."""


@dataclass(frozen=True)
class Cancelled:
    """What the decoder believes about a batch of tiles; rows run tile by tile, position by position."""

    symbols: torch.Tensor
    """int64 [rows]: best symbol, as the search numbers them."""
    confidence: torch.Tensor
    """float32 [rows]: its posterior probability."""
    clean: torch.Tensor
    """bool [T]: what remains of the latent is no more than storage noise."""
    rounds: int
    """Rounds that ran."""


def cancel(
    latents: torch.Tensor,
    amplitudes: torch.Tensor,
    lengths: torch.Tensor,
    floor: torch.Tensor,
    binding: Binding,
    search: Search,
    rounds: int = 60,
) -> Cancelled:
    """Decode a batch of tiles.

    Args:
        latents: float32 [T, width], as stored.
        amplitudes: float32 [T, P]; entries at and past a tile's length are ignored.
        lengths: int64 [T] symbols of each tile, at most P.
        floor: float32 [T] expected storage noise per coordinate (variance).
        binding: the positions' bindings; P <= binding.positions.
        search: symbols, features and prior.
        rounds: upper bound on rounds.
    """
    tiles, width = latents.shape
    tile = torch.repeat_interleave(torch.arange(tiles), lengths)
    position = torch.arange(len(tile)) - torch.repeat_interleave(lengths.cumsum(0) - lengths, lengths)
    window = tile * binding.blocks + position % binding.blocks
    amplitude = amplitudes[tile, position]
    all_signs = binding.signs(latents.device)

    mean = search.prior_mean.expand(len(tile), -1).clone()
    symbols = torch.zeros(len(tile), dtype=torch.int64)
    confidence = torch.zeros(len(tile))
    settled = torch.zeros(len(tile), dtype=torch.bool)
    open_tiles = torch.ones(tiles, dtype=torch.bool)

    def bound(rows: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
        signed = vectors * all_signs[position[rows]] * amplitude[rows, None]
        return binding.fold(signed, tile[rows], position[rows], tiles)

    everything = torch.arange(len(tile))
    residual = latents - bound(everything, mean)  # the latent less the current means
    filtered = residual  # the same with the Onsager term
    count = 0
    while count < rounds and open_tiles.any():
        count += 1
        noise = torch.maximum((filtered * filtered).mean(1), floor)
        gain = amplitude / noise[tile]
        active = (~settled & open_tiles[tile] & (amplitude * gain > DROWNED)).nonzero()[:, 0]
        if not len(active):
            break
        evidence = binding.windows(filtered)[window[active]] * all_signs[position[active]]
        evidence += amplitude[active, None] * mean[active]
        new_mean, best, probability = search.posterior(evidence, gain[active], active)
        sure = probability > 1 - SETTLED
        new_mean[sure] = search.features(best[sure])
        residual = residual - bound(active, new_mean - mean[active])
        mean[active], symbols[active], confidence[active], settled[active] = new_mean, best, probability, sure

        spread = amplitude[active] ** 2 * (1 - (new_mean * new_mean).sum(1)).clamp(min=0)
        onsager = torch.zeros(tiles).index_add_(0, tile[active], spread) / (width * noise)
        filtered = residual + filtered * onsager[:, None]
        unsettled = torch.zeros(tiles).index_add_(0, tile, (~settled).float())
        unexplained = (residual * residual).mean(1) > CLEAN * floor
        open_tiles = (unsettled > 0) | unexplained
        # Every position sure, yet the latent not explained: somebody is wrong, so all think again at the lower noise.
        settled &= ~(unexplained & (unsettled == 0))[tile]

    rest = latents - bound(everything, search.features(symbols))
    clean = (rest * rest).mean(1) <= CLEAN * floor
    return Cancelled(symbols, confidence, clean, count)
