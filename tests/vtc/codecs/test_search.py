"""Posteriors over symbols beside the plain formula in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from vtc.codecs.prior import load_prior
from vtc.codecs.search import LEVELS, SETTLED, TRUSTED, DenseSearch, PrunedSearch, prior_levels
from vtc.glyphs.table import GlyphTable

POSITIONS = 200
DTYPES = [torch.float32, torch.bfloat16]


def zipf(symbols: int) -> torch.Tensor:
    """Log-prior that falls as 1 / rank, over a random order."""
    order = torch.randperm(symbols, generator=torch.Generator().manual_seed(5))
    return -(torch.arange(symbols) + 10.0).log()[order]


def heard(features: torch.Tensor, noise: float, seed: int = 0) -> tuple[torch.Tensor, ...]:
    """Random symbols [n], their features in Gaussian noise [n, rank], and the gain of that noise [n]."""
    generator = torch.Generator().manual_seed(seed)
    symbols = torch.randint(len(features), (POSITIONS,), generator=generator)
    evidence = features[symbols] + noise * torch.randn(POSITIONS, features.shape[1], generator=generator)
    return symbols, evidence, torch.full((POSITIONS,), 1 / noise**2)


def exact(features: torch.Tensor, log_prior: torch.Tensor, evidence: torch.Tensor, gain: torch.Tensor) -> Any:
    """Mean, best symbol and its probability, by Bayes' rule over all symbols in float64."""
    table = features.double().numpy()
    logits = gain.numpy()[:, None] * (evidence.double().numpy() @ table.T) + log_prior.double().numpy()
    weights = np.exp(logits - logits.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    return weights @ table, weights.argmax(1), weights.max(1)


@pytest.mark.parametrize("prior", ["flat", "zipf"])
@pytest.mark.parametrize("noise", [0.05, 0.2, 1.0])
def test_dense_search_is_bayes_rule(make_table: Callable[..., Any], prior: str, noise: float) -> None:
    features = torch.from_numpy(make_table().features)
    log_prior = torch.zeros(500) if prior == "flat" else zipf(500)
    _, evidence, gain = heard(features, noise)
    search = DenseSearch(features, log_prior)
    mean, best, probability = search.posterior(evidence, gain, torch.arange(POSITIONS))
    expected = exact(features, log_prior, evidence, gain)
    np.testing.assert_allclose(mean, expected[0], atol=2e-5)
    assert best.tolist() == expected[1].tolist()
    np.testing.assert_allclose(probability, expected[2], rtol=1e-3)
    prior_mean = exact(features, log_prior, evidence[:1], torch.zeros(1))[0][0]
    np.testing.assert_allclose(search.prior_mean, prior_mean, atol=1e-6)
    assert torch.equal(search.features(best), features[best])


@pytest.fixture(scope="module")
def many(make_table: Callable[..., Any]) -> torch.Tensor:
    """20,000 random features, 64 dimensions."""
    return torch.from_numpy(make_table(20_000).features)


@pytest.mark.parametrize("prior", ["flat", "zipf"])
@pytest.mark.parametrize("noise", [0.1, 0.2, 0.3, 0.5, 1.0, 2.0])
def test_the_cloud_stands_for_all_other_symbols(many: torch.Tensor, prior: str, noise: float) -> None:
    """From certainty to ignorance: the partition function, and with it every probability, and the mean."""
    log_prior = torch.zeros(len(many)) if prior == "flat" else zipf(len(many))
    _, evidence, gain = heard(many, noise)
    search = PrunedSearch(many, log_prior, POSITIONS)
    mean, best, probability = search.posterior(evidence, gain, torch.arange(POSITIONS))
    expected = exact(many, log_prior, evidence, gain)
    ratio = np.log(probability.numpy()) - np.log(expected[2])
    assert abs(ratio.mean()) < 0.015 and abs(ratio).max() < 0.15
    assert np.linalg.norm(mean.numpy() - expected[0], axis=1).mean() < 0.05
    assert (best.numpy() == expected[1]).mean() > 0.99


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("prior", ["flat", "zipf"])
def test_decisions_at_low_noise_are_those_of_the_dense_search(
    many: torch.Tensor, dtype: torch.dtype, prior: str
) -> None:
    log_prior = torch.zeros(len(many)) if prior == "flat" else zipf(len(many))
    symbols, evidence, gain = heard(many, 0.1)
    rows = torch.arange(POSITIONS)
    pruned = PrunedSearch(many, log_prior, POSITIONS, dtype=dtype).posterior(evidence, gain, rows)
    dense = DenseSearch(many, log_prior).posterior(evidence, gain, rows)
    assert torch.equal(pruned[1], dense[1]) and torch.equal(pruned[1], symbols)
    assert pruned[2].min() > 0.999
    torch.testing.assert_close(pruned[0], dense[0], atol=1e-3, rtol=0)


@pytest.mark.parametrize("prior", ["flat", "unigram"])
def test_decisions_on_the_real_table(real_table: GlyphTable, prior: str) -> None:
    features = torch.from_numpy(real_table.features)
    log_prior = torch.zeros(len(features)) if prior == "flat" else torch.from_numpy(load_prior(real_table)[0])
    symbols, evidence, gain = heard(features, 0.08)
    rows = torch.arange(POSITIONS)
    pruned = PrunedSearch(features, log_prior, POSITIONS).posterior(evidence, gain, rows)
    dense = DenseSearch(features, log_prior).posterior(evidence, gain, rows)
    assert torch.equal(pruned[1], dense[1]) and (pruned[1] == symbols).float().mean() > 0.97
    torch.testing.assert_close(pruned[2], dense[2], atol=0.02, rtol=0)


def test_only_a_settled_position_that_comes_back_is_searched_again(many: torch.Tensor) -> None:
    rows = torch.arange(POSITIONS)
    search = PrunedSearch(many, torch.zeros(len(many)), POSITIONS)
    symbols, evidence, gain = heard(many, 0.1)
    _, _, probability = search.posterior(evidence, gain, rows)
    settled = probability > 1 - SETTLED
    assert search.searches == POSITIONS and settled.any()
    search.posterior(evidence[settled], gain[settled] * 1.1, rows[settled])  # the decoder comes back: somebody is wrong
    assert search.searches == POSITIONS + int(settled.sum())


def test_old_candidates_serve_at_lower_noise(many: torch.Tensor) -> None:
    rows = torch.arange(POSITIONS)
    search = PrunedSearch(many, torch.zeros(len(many)), POSITIONS)
    symbols, evidence, gain = heard(many, 0.1)
    _, _, probability = search.posterior(evidence, gain / 3, rows)
    open_rows = rows[probability < 1 - SETTLED]
    kept = open_rows[search._outside[open_rows] <= TRUSTED]
    assert len(kept)
    before = search.searches
    _, best, _ = search.posterior(evidence[kept], gain[kept], kept)  # stale, but without doubt
    assert search.searches == before and torch.equal(best, symbols[kept])


def test_a_position_in_doubt_is_searched_again_when_the_noise_has_fallen(many: torch.Tensor) -> None:
    rows = torch.arange(POSITIONS)
    search = PrunedSearch(many, torch.zeros(len(many)), POSITIONS)
    symbols, evidence, gain = heard(many, 1.0)
    first = search.posterior(evidence, gain, rows)
    assert (first[1] == symbols).float().mean() < 0.1
    _, evidence, gain = heard(many, 0.1)
    half = torch.arange(0, POSITIONS, 2)  # any subset of the rows
    again = search.posterior(evidence[half], gain[half], half)
    assert search.searches == POSITIONS + len(half) and torch.equal(again[1], symbols[half])


def test_padding_never_wins(make_table: Callable[..., Any]) -> None:
    """65 symbols leave 63 padded columns in the last block."""
    features = torch.from_numpy(make_table(65).features)
    _, evidence, gain = heard(features, 5.0)
    search = PrunedSearch(features, zipf(65), POSITIONS)
    mean, best, probability = search.posterior(evidence, gain, torch.arange(POSITIONS))
    assert best.max() < 65 and mean.isfinite().all() and probability.isfinite().all()


def test_levels_keep_the_mass_and_the_mean_of_a_prior() -> None:
    log_prior = zipf(3000).log_softmax(0)
    level, mass = prior_levels(log_prior)
    assert len(level) <= LEVELS and mass.exp().sum().item() == pytest.approx(1, rel=1e-5)
    entropy = -(log_prior.exp() * log_prior).sum().item()
    assert -(mass.exp() * level).sum().item() == pytest.approx(entropy, rel=1e-5)
    flat = prior_levels(torch.full((100,), 0.01).log())
    assert [part.tolist() for part in flat] == [[pytest.approx(np.log(0.01))], [pytest.approx(0, abs=1e-5)]]


def test_extreme_gains_end_in_certainty_or_in_the_prior(many: torch.Tensor) -> None:
    symbols, evidence, _ = heard(many, 0.1)
    gain = torch.logspace(-2, 12, POSITIONS)
    for log_prior in (torch.zeros(len(many)), zipf(len(many))):
        search = PrunedSearch(many, log_prior, POSITIONS)
        mean, best, probability = search.posterior(evidence, gain, torch.arange(POSITIONS))
        sure, blind = gain > 300, gain < 0.1
        assert torch.equal(best[sure], symbols[sure]) and probability[sure].min() > 0.999
        torch.testing.assert_close(mean[sure], many[symbols[sure]], atol=1e-3, rtol=0)
        top = log_prior.softmax(0).max().item()
        assert probability[blind].tolist() == pytest.approx([top] * int(blind.sum()), rel=0.1)
        assert mean[blind].norm(dim=1).max() < 0.15
