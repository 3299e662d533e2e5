"""Trains the autoencoder once and keeps it beside the artefacts, with its settings, the corpus's hash and its loss."""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor, nn

from eval.baselines.conv1d.corpus import corpus
from eval.baselines.conv1d.network import Autoencoder
from eval.baselines.conv1d.settings import Settings
from vtc.records.artefact import load_artefact, save_artefact
from vtc.records.paths import artifacts_dir
from vtc.records.progress import bar

KIND = "conv1d"
WARMUP = 100
"""Steps in which the learning rate rises."""


def ensure(settings: Settings) -> Autoencoder:
    """The trained network; it is trained first where there is none, which takes one to two minutes on one core.

    Raises:
        VtcError: the file is damaged, or can not be written.
    """
    path = artifacts_dir() / settings.file
    if not path.is_file():
        train(settings, path)
    tensors, _ = load_artefact(path, KIND)
    network = Autoencoder(settings)
    network.load_state_dict({name: torch.from_numpy(array) for name, array in tensors.items()})
    return network.eval().requires_grad_(False)


def train(settings: Settings, path: Path) -> float:
    """Train from the seed, save, and return the mean loss of the last tenth of steps, nats a byte."""
    text = corpus()
    data = torch.frombuffer(bytearray(text), dtype=torch.uint8)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        network = Autoencoder(settings)
        losses = _fit(network, data, settings)
    last = losses[-max(1, len(losses) // 10) :]
    loss = sum(last) / len(last)
    meta = {"settings": asdict(settings), "corpus_sha256": hashlib.sha256(text).hexdigest(), "loss": loss}
    save_artefact(path, KIND, {name: value.numpy() for name, value in network.state_dict().items()}, meta)
    return loss


def _fit(network: Autoencoder, data: Tensor, settings: Settings) -> list[float]:
    """Loss of every step. Draws from torch's global generator."""
    optimiser = torch.optim.AdamW(network.parameters(), lr=settings.rate)
    losses = []
    for step in bar(range(settings.steps), desc=f"training {settings.file}", unit="step"):
        for group in optimiser.param_groups:
            group["lr"] = settings.rate * min(1, (step + 1) / WARMUP) * _cosine(step / settings.steps)
        text = batch(data, settings)
        loss = nn.functional.cross_entropy(network.logits(network.latents(text)), text)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
    return losses


def batch(data: Tensor, settings: Settings) -> Tensor:
    """int64 [batch, window]: windows of the corpus, and before them those of random bytes, each from its own range."""
    places = torch.randint(0, len(data) - settings.window, (settings.batch,))
    text = data[places[:, None] + torch.arange(settings.window)].long()
    noisy = round(settings.batch * settings.noise)
    low, high = torch.randint(0, 256, (2, noisy, 1)).sort(0).values
    text[:noisy] = low + (torch.rand(noisy, settings.window) * (high + 1 - low)).long()
    return text


def _cosine(progress: float) -> float:
    return 0.5 + 0.5 * math.cos(math.pi * progress)
