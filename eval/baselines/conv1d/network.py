"""The network: bytes -> embedding -> strided convolutions -> latents -> transposed convolutions -> logits of bytes.

After Zhang and LeCun 2018, "Byte-Level Recursive Convolutional Auto-Encoder for Text" (arXiv 1802.01817), which decodes
all bytes in parallel as this does; without their recursion, since a text has any number of latents here. Weights begin
orthogonal (Saxe, McClelland and Ganguli 2014, arXiv 1312.6120) and the decoder as the encoder's transpose: with as many
channels as embedded bytes have numbers, the untrained network gives back what it gets.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from eval.baselines.conv1d.settings import Settings


class Block(nn.Module):
    """Residual block over positions: layer norm, convolution of 3, GELU, convolution of 1; at first the identity."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        self.wide = nn.Conv1d(channels, channels, 3, padding=1)
        self.out = nn.Conv1d(channels, channels, 1)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x: Tensor) -> Tensor:
        """[batch, channels, n] -> the same."""
        normed = self.norm(x.transpose(1, 2)).transpose(1, 2)
        return x + self.out(nn.functional.gelu(self.wide(normed)))


class Autoencoder(nn.Module):
    """`latents` is the encoder, `logits` the decoder."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        halvings = settings.stride.bit_length() - 1
        channels = [min(settings.channels, settings.embedding << i) for i in range(halvings + 1)]
        deepest = channels[-1]
        self.embed = nn.Embedding(256, settings.embedding)
        down = [nn.Conv1d(channels[i], channels[i + 1], 2, 2) for i in range(halvings)]
        up = [nn.ConvTranspose1d(channels[i + 1], channels[i], 2, 2) for i in range(halvings)]
        narrow, widen = nn.Conv1d(deepest, settings.width, 1), nn.ConvTranspose1d(settings.width, deepest, 1)
        for encoder, decoder in zip([*down, narrow], [*up, widen], strict=True):
            _mirror(encoder, decoder)
        self.encoder = nn.Sequential(*down, *(Block(deepest) for _ in range(settings.blocks)), narrow)
        self.decoder = nn.Sequential(
            widen, *(Block(deepest) for _ in range(settings.blocks)), *reversed(up), Block(settings.embedding)
        )
        self.head = nn.Conv1d(settings.embedding, 256, 1)
        with torch.no_grad():  # at first the nearest embedding: its inner product less half its square
            self.head.weight.copy_(self.embed.weight[:, :, None])
            self.head.bias.copy_(-0.5 * self.embed.weight.square().sum(1))

    def latents(self, text: Tensor) -> Tensor:
        """int64 [batch, n * stride] bytes -> [batch, width, n]."""
        return self.encoder(self.embed(text).transpose(1, 2))

    def logits(self, latents: Tensor) -> Tensor:
        """[batch, width, n] -> [batch, 256, n * stride]."""
        return self.head(self.decoder(latents))


def _mirror(encoder: nn.Conv1d, decoder: nn.ConvTranspose1d) -> None:
    """Orthogonal weights for a convolution, and its transpose for the one that undoes it."""
    out, into, kernel = encoder.weight.shape
    weight = nn.init.orthogonal_(torch.empty(out, into * kernel)).view(out, into, kernel)
    with torch.no_grad():
        encoder.weight.copy_(weight)
        decoder.weight.copy_(weight)
    nn.init.zeros_(encoder.bias)
    nn.init.zeros_(decoder.bias)
