"""The storage channel: what a stored number says about the number that was rounded to it.

Storage maps a coordinate z to the interval it lies in. Generalised approximate message passing (Rangan 2011) uses the
interval itself instead of a noise variance: given the prediction z ~ N(p, v), the stored interval says how p must move,
and how sharply. As v falls below the interval's width only the coordinates near an edge still speak, but they speak
exactly, so that the effective noise goes to zero where a variance would leave a floor.
"""

from __future__ import annotations

import math

import torch

ROOT = math.sqrt(math.pi / 2)


def mills(x: torch.Tensor) -> torch.Tensor:
    """Upper tail over density of the standard normal, stable for large x."""
    return ROOT * torch.special.erfcx(x / math.sqrt(2))


def interval_moments(low: torch.Tensor, high: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and variance of a standard normal cut to [low, high]; entries may be infinite. float64 in and out."""
    flip = low + high < 0  # work on the side where the interval lies right of the middle, tails included
    a = torch.where(flip, -high, low)
    b = torch.where(flip, -low, high)
    # With a <= 0 the interval holds the middle; mills(a) grows like exp(a^2 / 2) there, harmless down to about -8.
    a = a.clamp(min=-8.0)
    fade = torch.exp((a * a - b * b).clamp(max=0) / 2)  # density(b) / density(a), 0 for b = inf
    fade = torch.where(torch.isinf(b), torch.zeros_like(fade), fade)
    far = torch.where(torch.isinf(b), torch.zeros_like(b), b)
    mass = (mills(a) - fade * mills(far)).clamp(min=1e-12)  # over density(a)
    mean = (1 - fade) / mass
    variance = 1 + (a - fade * far) / mass - mean * mean
    narrow = (b - a) < 1e-4  # there the cut density is flat
    width = torch.where(narrow, b - a, torch.zeros_like(b))
    mean = torch.where(narrow, a + width / 2, mean)
    variance = torch.where(narrow, width * width / 12, variance).clamp(0.0, 1.0)
    return torch.where(flip, -mean, mean), variance


def listen(
    prediction: torch.Tensor, variance: torch.Tensor, low: torch.Tensor, high: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """What the stored intervals say against a prediction.

    Args:
        prediction: float64 [T, width] of the coordinates before storage.
        variance: float64 [T] of the prediction's error per coordinate.
        low, high: float64 [T, width] the stored intervals.

    Returns:
        score [T, width]: (E[z | interval] - prediction) / variance;
        precision [T]: mean of its negative derivative, 1 / effective noise variance.
    """
    deviation = variance.sqrt()[:, None]
    mean, rest = interval_moments((low - prediction) / deviation, (high - prediction) / deviation)
    return mean / deviation, (1 - rest).mean(1) / variance
