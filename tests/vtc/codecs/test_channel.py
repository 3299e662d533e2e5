"""The storage channel beside Gauss-Legendre quadrature of the cut normal density."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vtc.codecs.channel import interval_moments, listen, mills

NODES, WEIGHTS = np.polynomial.legendre.leggauss(300)
WIDTHS = [1e-8, 1e-5, 9e-5, 1.1e-4, 1e-3, 1e-2, 0.1, 1.0, 3.0, 10.0, 40.0, math.inf]


def moments_by_quadrature(low: float, high: float) -> tuple[float, float]:
    """Mean and variance of a standard normal cut to [low, high], around its mode."""
    mode = min(max(0.0, low), high)
    reach = 12.0 if low < 0 < high else 45 / max(min(abs(low), abs(high)), 3.5)  # beyond it lies less than e^-40
    left, right = max(low, mode - reach), min(high, mode + reach)
    offset = (right - left) / 2 * (NODES + 1) + (left - mode)
    weight = WEIGHTS * np.exp(-mode * offset - offset * offset / 2)
    mean = (weight * offset).sum() / weight.sum()
    return mode + mean, (weight * (offset - mean) ** 2).sum() / weight.sum()


def moments(low: float, high: float) -> tuple[float, float]:
    mean, variance = interval_moments(*(torch.tensor([x], dtype=torch.float64) for x in (low, high)))
    return mean.item(), variance.item()


@pytest.mark.parametrize("low", [-30, -9, -8.5, -7, -3, -1, -0.1, 0, 0.1, 1, 3, 7, 9, 30])
@pytest.mark.parametrize("width", WIDTHS)
def test_moments_agree_with_quadrature(low: float, width: float) -> None:
    for ends in ((low, low + width), (-low - width, -low)):
        mean, variance = moments(*ends)
        expected, spread = moments_by_quadrature(*ends)
        assert abs(mean - expected) < 1e-3 * math.sqrt(spread)
        assert variance == pytest.approx(spread, rel=0.05)


def test_published_moments() -> None:
    """Half-normal and the whole line; values in closed form."""
    assert moments(0, math.inf) == pytest.approx((math.sqrt(2 / math.pi), 1 - 2 / math.pi))
    assert moments(-math.inf, 0) == pytest.approx((-math.sqrt(2 / math.pi), 1 - 2 / math.pi))
    assert moments(-math.inf, math.inf) == pytest.approx((0, 1))


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6) | st.just(math.inf))
def test_moments_stay_inside_the_interval(low: float, width: float) -> None:
    mean, variance = moments(low, low + width)
    slack = 1e-9 * abs(low) + 1e-8
    assert low - slack <= mean <= low + width + slack and 0 <= variance <= 1


@pytest.mark.parametrize("x", [-3.0, 0.0, 1.0, 5.0])
def test_mills_ratio(x: float) -> None:
    """Tail by the complementary error function of Python's library, over the density."""
    expected = math.erfc(x / math.sqrt(2)) / 2 * math.sqrt(2 * math.pi) * math.exp(x * x / 2)
    assert mills(torch.tensor(x, dtype=torch.float64)).item() == pytest.approx(expected, rel=1e-12)


def case(width: float, variance: float, seed: int = 0) -> tuple[torch.Tensor, ...]:
    """Predictions of normal coordinates that were rounded down to multiples of `width`; [2, 4000] each."""
    generator = torch.Generator().manual_seed(seed)
    truth = torch.randn(2, 4000, dtype=torch.float64, generator=generator)
    noise = torch.randn(2, 4000, dtype=torch.float64, generator=generator)
    low = (truth / width).floor() * width
    return truth + math.sqrt(variance) * noise, torch.full((2,), variance, dtype=torch.float64), low, low + width


def test_narrow_intervals_act_as_gaussian_noise() -> None:
    """For intervals far below the prediction's error: a measurement of the middle with variance width^2 / 12."""
    width, variance = 0.3, 1.0
    prediction, error, low, high = case(width, variance)
    score, precision = listen(prediction, error, low, high)
    total = variance + width**2 / 12
    assert (score - ((low + high) / 2 - prediction) / total).abs().max() < 0.05
    assert precision.tolist() == pytest.approx([1 / total] * 2, rel=1e-3)


def test_wide_intervals_speak_only_near_their_edges() -> None:
    prediction, error, low, high = case(1.0, 1e-6)
    score, precision = listen(prediction, error, low, high)
    inside = torch.minimum(prediction - low, high - prediction) > 6e-3
    assert inside.float().mean() > 0.9 and score[inside].abs().max() < 1e-3
    assert (precision < 0.01 / error).all() and (precision > 1).all()  # yet more than the interval's variance would say


@pytest.mark.parametrize(("width", "variance"), [(0.3, 1.0), (1.0, 1.0), (1.0, 0.01)])
def test_precision_is_the_scores_slope(width: float, variance: float) -> None:
    prediction, error, low, high = case(width, variance, seed=1)
    step = 1e-4 * math.sqrt(variance)
    above, below = (listen(prediction + move, error, low, high)[0] for move in (step, -step))
    slope = ((below - above) / (2 * step)).mean(1)
    assert listen(prediction, error, low, high)[1].tolist() == pytest.approx(slope.tolist(), rel=1e-4)


def test_what_the_interval_says_improves_the_prediction() -> None:
    """prediction + variance * score is the posterior mean: its error has the posterior variance."""
    prediction, error, low, high = case(1.0, 0.25, seed=2)
    truth = case(1.0, 0.0, seed=2)[0]
    score, precision = listen(prediction, error, low, high)
    left = (prediction + 0.25 * score - truth).square().mean(1)
    assert left.tolist() == pytest.approx((0.25 - 0.25**2 * precision).tolist(), rel=0.1)
