"""Soft interference cancellation: the decoder of the hard codec.

A latent is a sum of bound symbols, z = sum_i B_i f(s_i), rounded to its storage format. Every position sees its own
symbol plus the others as interference. Approximate message passing for sparse superposition codes (Rush, Greig and
Venkataramanan 2017), here in its generalised form with the storage as the output channel (Rangan 2011), alternates two
steps: each position forms the posterior over symbols from its matched-filter evidence, and the posterior MEANS of all
positions are subtracted from the latent, with the Onsager term, which removes from the prediction what a position's own
estimate fed back into it. Strong positions settle first; settled ones leave, and those still drowned in interference
wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch

from vtc.codecs.binding import Binding
from vtc.codecs.channel import listen
from vtc.codecs.search import SETTLED, Posterior
from vtc.codecs.storage import Stored

DROWNED = 0.5  # signal power over noise variance below which evidence says nothing yet
SLACK = 3e-6  # of the latent's root mean square: float32 rounding of a sum that must fall into its stored intervals
RELAPSES = 4  # times that a tile may settle on a wrong answer before it is given up
PROGRESS, PATIENCE = 0.99, 8  # a tile whose noise has not fallen by 1 % for so many rounds is given up


class Search(Protocol):
    """Posterior over symbols from evidence; see `vtc.codecs.search`."""

    prior_mean: torch.Tensor
    """[rank]: mean feature before any evidence."""

    def posterior(self, evidence: torch.Tensor, gain: torch.Tensor, rows: torch.Tensor) -> Posterior:
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
    """float32 [rows]: its posterior probability; 1 in a tile that is explained."""
    explained: torch.Tensor
    """bool [T]: folding the symbols again gives the stored latent, coordinate by coordinate."""
    rounds: int
    """Rounds that ran."""


def cancel(
    stored: Stored, amplitudes: torch.Tensor, lengths: torch.Tensor, binding: Binding, search: Search, rounds: int = 60
) -> Cancelled:
    """Decode a batch of tiles.

    Args:
        stored: latents float32 [T, width] with the intervals of their storage.
        amplitudes: float32 [T, P]; entries at and past a tile's length are ignored.
        lengths: int64 [T] symbols of each tile, at most P.
        binding: the positions' bindings; P <= binding.positions.
        search: symbols, features and prior.
        rounds: upper bound on rounds.
    """
    values, low, high = (torch.from_numpy(part).double() for part in stored)
    tiles, width = values.shape
    power = (values * values).mean(1) + 1e-30
    tile = torch.repeat_interleave(torch.arange(tiles), lengths)
    position = torch.arange(len(tile)) - torch.repeat_interleave(lengths.cumsum(0) - lengths, lengths)
    places = binding.rows(tile, position)
    amplitude = amplitudes[tile, position]
    all_signs = binding.signs()

    def fold(rows: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
        signed = vectors * all_signs[position[rows]] * amplitude[rows, None]
        return binding.fold(signed, places[rows], tiles).double()

    def per_tile(values: torch.Tensor) -> torch.Tensor:
        return torch.zeros(tiles, dtype=torch.float64).index_add_(0, tile, values.double())

    mean = search.prior_mean.expand(len(tile), -1).clone()
    spread = amplitude**2 * (1 - mean.square().sum(1)).clamp(min=0)  # what each position still leaves open
    symbols = torch.zeros(len(tile), dtype=torch.int64)
    confidence = torch.zeros(len(tile))
    settled = torch.zeros(len(tile), dtype=torch.bool)
    explained = torch.zeros(tiles, dtype=torch.bool)
    relapses = torch.zeros(tiles, dtype=torch.int64)
    quietest = torch.full((tiles,), torch.inf, dtype=torch.float64)  # lowest noise so far
    stalled = torch.zeros(tiles, dtype=torch.int64)
    answer, nearest = symbols.clone(), torch.full((tiles,), torch.inf, dtype=torch.float64)
    expected = fold(torch.arange(len(tile)), mean)
    onsager = torch.zeros_like(values)
    count = 0
    while count < rounds:
        prediction = expected - onsager
        missed = (torch.clamp(low - prediction, min=0) + torch.clamp(prediction - high, min=0)).square().mean(1)
        variance = torch.maximum(torch.maximum(per_tile(spread) / width, missed), power * 1e-12)
        score, precision = listen(prediction, variance, low, high)
        gain = amplitude * precision[tile].float()
        stalled = torch.where(1 / precision < PROGRESS * quietest, 0, stalled + 1)
        quietest = torch.minimum(quietest, 1 / precision)
        open_tiles = ~explained & (relapses < RELAPSES) & (stalled < PATIENCE)
        active = (~settled & open_tiles[tile] & (amplitude * gain > DROWNED)).nonzero()[:, 0]
        if not len(active):
            break
        count += 1
        filtered = (score / precision[:, None]).float()
        evidence = binding.gather(filtered, places[active]) * all_signs[position[active]]
        evidence += amplitude[active, None] * mean[active]
        new_mean, best, probability = search.posterior(evidence, gain[active], active)
        sure = probability > 1 - SETTLED
        new_mean[sure] = search.features(best[sure])
        expected += fold(active, new_mean - mean[active])
        mean[active], symbols[active], confidence[active], settled[active] = new_mean, best, probability, sure
        spread[active] = amplitude[active] ** 2 * (1 - new_mean.square().sum(1)).clamp(min=0)
        heard = torch.zeros(len(tile)).index_copy_(0, active, spread[active])
        onsager = score * (per_tile(heard) / width)[:, None]

        ripe = open_tiles & (per_tile(confidence < 0.5) == 0)
        if ripe.any():
            rows = ripe[tile].nonzero()[:, 0]
            sums = fold(rows, search.features(symbols[rows]))
            beyond = torch.maximum(low - sums, sums - high).clamp(min=0)
            explained |= ripe & (beyond <= SLACK * power.sqrt()[:, None]).all(1)
            miss = beyond.square().mean(1)
            nearer = ripe & (explained | (miss < nearest))
            nearest = torch.where(nearer, miss, nearest)
            answer[nearer[tile]] = symbols[nearer[tile]]
            # All sure or nothing moves, yet the latent is not explained: somebody is wrong, so all think again.
            wrong = ripe & ~explained & ((per_tile(~settled) == 0) | (stalled >= PATIENCE // 2))
            relapses += wrong
            settled &= ~wrong[tile]
            stalled[wrong], quietest[wrong] = 0, torch.inf
    confidence[explained[tile]] = 1.0
    # Where none explains the latent (another machine's table rounds differently), the answer that misses least counts.
    symbols = torch.where(nearest.isfinite()[tile], answer, symbols)
    return Cancelled(symbols, confidence, explained, count)
