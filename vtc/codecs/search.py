"""Posterior over symbols: which features explain the evidence at a position.

Both searches return the posterior mean that soft cancellation subtracts. `DenseSearch` weighs every symbol of a small
alphabet. For a whole vocabulary `PrunedSearch` weighs a few candidates exactly and the rest as a Gaussian cloud, and
looks for candidates again only when the noise has fallen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import torch

from vtc.codecs.channel import mills

SETTLED = 1e-4
"""Posterior mass outside the best symbol below which a position is settled."""
TRUSTED = 1e-3
"""Mass outside the candidates at their search, below which they are kept for later rounds."""
SPARE = 8
"""Candidates beyond those that are kept, among which float32 decides."""
LOG_ROOT = math.log(2 * math.pi) / 2
LEVELS = 32
"""Steps into which a prior is cut for the mass of the symbols that are no candidates."""
Posterior = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def fast_dtype() -> torch.dtype:
    """bfloat16 where the processor multiplies it natively (about 4 times faster there), else float32."""
    native = getattr(torch.cpu, "_is_avx512_bf16_supported", None)
    return torch.bfloat16 if native is not None and native() else torch.float32


@dataclass
class DenseSearch:
    """Every symbol of a small alphabet is weighed in every round: exact posterior means."""

    table: torch.Tensor
    """float32 [M, rank] features of the alphabet."""
    log_prior: torch.Tensor
    """float32 [M] log-probabilities (up to a constant)."""
    prior_mean: torch.Tensor = field(init=False)
    """[rank] mean feature before any evidence."""

    def __post_init__(self) -> None:
        self.prior_mean = self.log_prior.softmax(0) @ self.table

    def features(self, symbols: torch.Tensor) -> torch.Tensor:
        """[n, rank]."""
        return self.table[symbols]

    def posterior(self, evidence: torch.Tensor, gain: torch.Tensor, rows: torch.Tensor) -> Posterior:
        """See `vtc.codecs.cancellation.Search`."""
        logits = (evidence @ self.table.T).mul_(gain[:, None]).add_(self.log_prior)
        weights = logits.softmax(1)
        probability, best = weights.max(1)
        return weights @ self.table, best, probability


@dataclass
class PrunedSearch:
    """A whole vocabulary, with candidates kept per position between rounds.

    A position's candidates are the best `candidates` symbols at the time of its last full search, which runs in
    `dtype`. All other symbols count as one Gaussian cloud, cut off at the weakest candidate's score: their mass is a
    closed form, their mean the shrunken evidence. So confidence is not overstated while the noise is high.
    """

    table: torch.Tensor
    """float32 [V, rank]."""
    log_prior: torch.Tensor
    """float32 [V] log-probabilities."""
    rows: int
    """Number of positions of the batch."""
    candidates: int = 32
    """Kept per position."""
    refresh: float = 2.0
    """A position is searched again when its gain has grown by this factor."""
    dtype: torch.dtype = field(default_factory=fast_dtype)
    """Arithmetic of the full search; candidates are weighed in float32."""
    prior_mean: torch.Tensor = field(init=False)
    """[rank] mean feature before any evidence."""
    searches: int = field(default=0, init=False)
    """Full searches so far, one per position and search."""

    def __post_init__(self) -> None:
        symbols, rank = self.table.shape
        self.log_prior = self.log_prior.log_softmax(0)
        self.prior_mean = self.log_prior.exp() @ self.table
        self._level, self._mass = prior_levels(self.log_prior)
        self._block = 64
        padding = -symbols % self._block
        # One more column holds the prior, so that one product gives gain * score + prior; padding can never win.
        wide = torch.zeros(symbols + padding, rank + 32)
        wide[:symbols, :rank] = self.table
        wide[:symbols, rank] = self.log_prior - self.log_prior.mean()
        wide[symbols:, rank] = -1e4
        self._wide = wide.to(self.dtype)
        self._found = torch.zeros(self.rows, self.candidates, dtype=torch.int64)
        self._gain = torch.zeros(self.rows)
        self._outside = torch.ones(self.rows)
        self._settled = torch.zeros(self.rows, dtype=torch.bool)

    def features(self, symbols: torch.Tensor) -> torch.Tensor:
        """[n, rank]."""
        return self.table[symbols]

    def posterior(self, evidence: torch.Tensor, gain: torch.Tensor, rows: torch.Tensor) -> Posterior:
        """See `vtc.codecs.cancellation.Search`."""
        stale = gain > self.refresh * self._gain[rows]
        # Also blind: a position that had settled and comes back, since then its tile was not explained.
        blind = (stale & (self._outside[rows] > TRUSTED)) | self._settled[rows]
        if blind.any():
            self._look(evidence, gain, rows, blind)
        mean, best, probability, outside = self._weigh(evidence, gain, rows)
        self._outside[rows[blind]] = outside[blind]
        doubt = stale & ~blind & (probability < 1 - SETTLED)
        if doubt.any():
            self._look(evidence, gain, rows, doubt)
            again = self._weigh(evidence[doubt], gain[doubt], rows[doubt])
            mean[doubt], best[doubt], probability[doubt], self._outside[rows[doubt]] = again
        self._settled[rows] = probability > 1 - SETTLED
        return mean, best, probability

    def _look(self, evidence: torch.Tensor, gain: torch.Tensor, rows: torch.Tensor, chosen: torch.Tensor) -> None:
        """Full search for the chosen ones (bool [n])."""
        self._found[rows[chosen]] = self._search(evidence[chosen], gain[chosen])
        self._gain[rows[chosen]] = gain[chosen]

    def _weigh(self, evidence: torch.Tensor, gain: torch.Tensor, rows: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Posterior from the candidates and the cloud, and the cloud's mass [n]."""
        found = self._found[rows]  # [n, K]
        near = self.table[found]  # [n, K, rank]
        score = torch.bmm(near, evidence[:, :, None])[:, :, 0]  # [n, K]
        logits = score * gain[:, None] + self.log_prior[found]
        cloud, shrink = self._cloud(evidence, gain, logits.amin(1))
        weights = torch.cat([logits, cloud[:, None]], 1).softmax(1)
        probability, slot = weights[:, :-1].max(1)
        mean = torch.bmm(weights[:, None, :-1], near)[:, 0]
        length = (shrink * evidence.norm(dim=1)).clamp(min=1)
        mean += weights[:, -1:] * ((shrink / length)[:, None] * evidence + self.prior_mean)
        return mean, found.gather(1, slot[:, None])[:, 0], probability, weights[:, -1]

    def _cloud(self, evidence: torch.Tensor, gain: torch.Tensor, weakest: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """All other symbols: their log-mass [n], and how far towards the evidence their mean lies [n].

        Scores count as N(0, |evidence|^2 / rank), cut off where a symbol would outweigh the weakest candidate.
        """
        norm = evidence.norm(dim=1)
        deviation = norm / self.table.shape[1] ** 0.5
        shift = (gain * deviation)[:, None]
        worth = weakest[:, None] - self._level  # what a symbol's score must be worth, [n, levels]
        edge = worth / shift - shift
        # log(e^(shift^2 / 2) cdf(edge)); far left of the middle the squares cancel, and only their difference is kept.
        left = worth - (worth / shift) ** 2 / 2 - LOG_ROOT + mills(-edge).log()
        mass = self._mass + torch.where(edge < 0, left, shift**2 / 2 + torch.special.log_ndtr(edge))
        score = deviation * ((shift - 1 / mills(-edge)) * mass.softmax(1)).sum(1)
        return mass.logsumexp(1), score / norm**2

    def _search(self, evidence: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
        """Best symbols [n, K] over the whole vocabulary, by blocks: only the best blocks are looked into.

        Of a few more by `dtype` the best by float32 are kept, so that a document decodes alike in either arithmetic.
        """
        self.searches += len(evidence)
        (symbols, rank), wanted, found = self.table.shape, self.candidates + SPARE, []
        for start in range(0, len(evidence), 512):
            part, scale = evidence[start : start + 512], gain[start : start + 512]
            query = torch.zeros(len(part), self._wide.shape[1], dtype=self.dtype)
            query[:, :rank] = part * scale[:, None]
            query[:, rank] = 1
            logits = (query @ self._wide.T).view(len(part), -1, self._block)  # [n, blocks, block]
            blocks = logits.amax(2).float().topk(min(wanted, logits.shape[1]), dim=1).indices  # [n, K + spare]
            inside = logits.gather(1, blocks[:, :, None].expand(-1, -1, self._block)).flatten(1).float()
            place = inside.topk(wanted, dim=1).indices
            best = blocks.gather(1, place // self._block) * self._block + place % self._block
            best.clamp_(max=symbols - 1)  # no score is above padding where damage made them all not-a-number
            scores = torch.bmm(self.table[best], part[:, :, None])[:, :, 0]
            order = (scores * scale[:, None] + self.log_prior[best]).topk(self.candidates, dim=1).indices
            found.append(best.gather(1, order))
        return torch.cat(found)


def prior_levels(log_prior: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A prior [V] as few steps: mean log-probability and log-mass of each, [levels]; one step where it is flat."""
    low, high = log_prior.aminmax()
    step = ((log_prior - low) / (high - low).clamp(min=1) * (LEVELS - 1)).round().long()
    share = log_prior.double().exp()
    mass = torch.zeros(LEVELS, dtype=torch.float64).index_add_(0, step, share)
    level = torch.zeros(LEVELS, dtype=torch.float64).index_add_(0, step, share * log_prior)
    used = mass > 0
    return (level[used] / mass[used]).float(), mass[used].log().float()
