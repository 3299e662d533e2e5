"""Turning keys and queries that carry a rotary position (Su et al. 2021) to another position."""

from __future__ import annotations

import inspect
from typing import Any

import torch


def rotated(model: Any, vectors: torch.Tensor, shift: torch.Tensor | int, layer: int) -> torch.Tensor:
    """Vectors [.., n, d] moved by `shift` positions, an int or int [n], from wherever they stood: rotations add up.

    Args:
        model: the transformers model, whose own rotary module says how fast each pair of dimensions turns.
        layer: number of the layer; some models turn faster in layers with a window.
    """
    rotary = model.base_model.get_submodule("rotary_emb")
    places = torch.as_tensor(shift, device=vectors.device).reshape(1, -1)
    options = {}
    if "layer_type" in inspect.signature(rotary.forward).parameters:
        options["layer_type"] = model.config.get_text_config().layer_types[layer]
    cos, sin = rotary(vectors.float(), position_ids=places, **options)  # [1, n or 1, r]
    scale = (cos[0, 0, 0] ** 2 + sin[0, 0, 0] ** 2).sqrt()  # long-context variants also scale
    cos, sin = cos[0] / scale, sin[0] / scale
    size = cos.shape[-1]
    turning, still = vectors[..., :size].float(), vectors[..., size:]
    left, right = turning.chunk(2, -1)
    turned = turning * cos + torch.cat([-right, left], -1) * sin
    return torch.cat([turned.to(vectors.dtype), still], -1)
