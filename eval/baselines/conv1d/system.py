"""The autoencoder as a system."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import torch

from eval.baselines.conv1d.network import Autoencoder
from eval.baselines.conv1d.settings import Settings
from eval.baselines.conv1d.training import ensure
from eval.baselines.tokens import count_tokens
from eval.schema import Item, Outcome, Result
from eval.systems.base import System
from vtc.records.config import load_config

CHUNK_BYTES = 1 << 14
"""A text is coded in such pieces, so that memory stays bounded; a multiple of every sensible stride."""
LENGTH_BYTES = 4
"""Of the text's length, which the latents do not tell."""


@dataclass
class Conv1d(System):
    """Trained when it is first needed, see `eval.baselines.conv1d`. Nothing promises that a text comes back."""

    _settings: Settings = field(init=False)
    _network: Autoencoder | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._settings = load_config(Settings, overrides=[f"{k}={v}" for k, v in self.options.items()])

    def run(self, item: Item) -> Result:
        """Latents pass through float16, as they would be stored."""
        if self._network is None:
            self._network = ensure(self._settings)
        tokens = count_tokens(item.text, self.bench.vocabulary)
        start = time.perf_counter()
        stored = encode(self._network, item.text, self._settings.stride)
        encoded = time.perf_counter()
        text = decode(self._network, stored)[: len(item.text)]
        outcome = Outcome(text.decode("utf-8", "surrogateescape"), seconds=time.perf_counter() - encoded)
        latents = sum(piece.shape[1] for piece in stored)
        size = latents * self._settings.width * 2 + LENGTH_BYTES
        return Result([outcome], "", tokens, latents, size, encoded - start)


def encode(network: Autoencoder, text: bytes, stride: int) -> list[torch.Tensor]:
    """Latents of every piece of the text, float16 [width, n] each; the last piece is filled up with zero bytes."""
    size = -(-CHUNK_BYTES // stride) * stride
    padded = text + bytes(-len(text) % stride)
    stored = []
    for first in range(0, len(padded), size):
        piece = torch.frombuffer(bytearray(padded[first : first + size]), dtype=torch.uint8)
        stored.append(network.latents(piece.long()[None])[0].half())
    return stored


def decode(network: Autoencoder, stored: list[torch.Tensor]) -> bytes:
    """The likeliest byte at every place, filling included."""
    pieces = [network.logits(latents.float()[None])[0].argmax(0).to(torch.uint8) for latents in stored]
    return b"".join(piece.numpy().tobytes() for piece in pieces)
