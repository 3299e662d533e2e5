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


class Layout:
    """Where the symbols of a batch of tiles lie; rows run tile by tile, position by position."""

    def __init__(self, binding: Binding, amplitudes: torch.Tensor, lengths: torch.Tensor) -> None:
        """Take amplitudes float32 [T, P] (ignored at and past a tile's length) and lengths int64 [T], at most P."""
        self.tiles = len(lengths)
        self.tile = torch.repeat_interleave(torch.arange(self.tiles), lengths)  # [rows]
        position = torch.arange(len(self.tile)) - torch.repeat_interleave(lengths.cumsum(0) - lengths, lengths)
        self.amplitude = amplitudes[self.tile, position]  # [rows]
        self._binding, self._position = binding, position
        self._signs, self._places = binding.signs(), binding.rows(self.tile, position)

    def fold(self, rows: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
        """Latents float64 [T, width] of the vectors [n, rank] of rows int64 [n]."""
        signed = vectors * self._signs[self._position[rows]] * self.amplitude[rows, None]
        return self._binding.fold(signed, self._places[rows], self.tiles).double()

    def unfold(self, latents: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        """What latents float32 [T, width] hold at rows int64 [n], signs undone: [n, rank]."""
        return self._binding.gather(latents, self._places[rows]) * self._signs[self._position[rows]]

    def per_tile(self, values: torch.Tensor) -> torch.Tensor:
        """Sums of values [rows] over tiles: float64 [T]."""
        return torch.zeros(self.tiles, dtype=torch.float64).index_add_(0, self.tile, values.double())


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
    layout = Layout(binding, amplitudes, lengths)
    tile, amplitude, per_tile = layout.tile, layout.amplitude, layout.per_tile
    values, low, high = (torch.from_numpy(part).double() for part in stored)
    tiles, width = values.shape
    smallest = (values * values).mean(1) * 1e-12 + 1e-42

    mean = search.prior_mean.expand(len(tile), -1).clone()
    spread = amplitude**2 * (1 - mean.square().sum(1)).clamp(min=0)  # what each position still leaves open
    symbols = torch.zeros(len(tile), dtype=torch.int64)
    confidence = torch.zeros(len(tile))
    settled = torch.zeros(len(tile), dtype=torch.bool)
    judge = Judge(layout, low, high, (values * values).mean(1).sqrt(), symbols)
    expected, onsager = layout.fold(torch.arange(len(tile)), mean), torch.zeros_like(values)
    count = 0
    while count < rounds:
        prediction = expected - onsager
        missed = beyond(prediction, low, high).square().mean(1)
        variance = torch.maximum(torch.maximum(per_tile(spread) / width, missed), smallest)
        score, precision = listen(prediction, variance, low, high)
        gain = amplitude * precision[tile].float()
        open_tiles = judge.still_open(1 / precision)
        active = (~settled & open_tiles[tile] & (amplitude * gain > DROWNED)).nonzero()[:, 0]
        if not len(active):
            break
        count += 1
        evidence = layout.unfold((score / precision[:, None]).float(), active)
        evidence += amplitude[active, None] * mean[active]
        new_mean, best, probability = search.posterior(evidence, gain[active], active)
        sure = probability > 1 - SETTLED
        new_mean[sure] = search.features(best[sure])
        expected += layout.fold(active, new_mean - mean[active])
        mean[active], symbols[active], confidence[active], settled[active] = new_mean, best, probability, sure
        spread[active] = amplitude[active] ** 2 * (1 - new_mean.square().sum(1)).clamp(min=0)
        heard = torch.zeros(len(tile)).index_copy_(0, active, spread[active])
        onsager = score * (per_tile(heard) / width)[:, None]
        ripe = open_tiles & (per_tile(confidence < 0.5) == 0)
        settled &= ~judge.weigh(ripe, per_tile(~settled) == 0, symbols, search)[tile]
    confidence[judge.explained[tile]] = 1.0
    return Cancelled(judge.answer(symbols), confidence, judge.explained, count)


def beyond(sums: torch.Tensor, low: torch.Tensor, high: torch.Tensor) -> torch.Tensor:
    """How far sums [T, width] lie outside their stored intervals; 0 inside."""
    return torch.maximum(low - sums, sums - high).clamp(min=0)


class Judge:
    """Which tiles are explained, which make no progress, and which must think again."""

    def __init__(
        self, layout: Layout, low: torch.Tensor, high: torch.Tensor, scale: torch.Tensor, symbols: torch.Tensor
    ) -> None:
        """Take the stored intervals [T, width], each latent's root mean square [T], and the first symbols [rows]."""
        tiles = layout.tiles
        self.explained = torch.zeros(tiles, dtype=torch.bool)
        self._layout, self._low, self._high, self._slack = layout, low, high, SLACK * scale[:, None]
        self._relapses = torch.zeros(tiles, dtype=torch.int64)
        self._stalled = torch.zeros(tiles, dtype=torch.int64)
        self._quietest = torch.full((tiles,), torch.inf, dtype=torch.float64)  # lowest noise so far
        self._answer = symbols.clone()
        self._nearest = torch.full((tiles,), torch.inf, dtype=torch.float64)  # smallest miss of an answer so far

    def still_open(self, noise: torch.Tensor) -> torch.Tensor:
        """Tiles worth another round, bool [T], after a look at their effective noise [T]."""
        self._stalled = torch.where(noise < PROGRESS * self._quietest, 0, self._stalled + 1)
        self._quietest = torch.minimum(self._quietest, noise)
        return ~self.explained & (self._relapses < RELAPSES) & (self._stalled < PATIENCE)

    def weigh(self, ripe: torch.Tensor, sure: torch.Tensor, symbols: torch.Tensor, search: Search) -> torch.Tensor:
        """Fold the symbols of ripe tiles (bool [T]) again and compare; returns which must think again, bool [T].

        Those are the tiles where all are sure or nothing moves, yet the latent is not explained: somebody is wrong.
        """
        if not ripe.any():
            return ripe
        tile = self._layout.tile
        rows = ripe[tile].nonzero()[:, 0]
        outside = beyond(self._layout.fold(rows, search.features(symbols[rows])), self._low, self._high)
        self.explained |= ripe & (outside <= self._slack).all(1)
        miss = outside.square().mean(1)
        nearer = ripe & (self.explained | (miss < self._nearest))
        self._nearest = torch.where(nearer, miss, self._nearest)
        self._answer = torch.where(nearer[tile], symbols, self._answer)
        wrong = ripe & ~self.explained & (sure | (self._stalled >= PATIENCE // 2))
        self._relapses += wrong
        self._stalled[wrong], self._quietest[wrong] = 0, torch.inf
        return wrong

    def answer(self, symbols: torch.Tensor) -> torch.Tensor:
        """The symbols [rows] that explain each tile; else those that miss least, as another machine's table rounds."""
        return torch.where(self._nearest.isfinite()[self._layout.tile], self._answer, symbols)
