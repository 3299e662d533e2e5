"""Read a document once, and see which of its entries later readers look at.

Nobody knows the question yet. Two kinds of queries stand for it: those of a second pass in which the model repeats the
document after an instruction (KVzip, arXiv 2505.23416), so that every detail is looked up once, and those of the first
pass, moved to positions just after the document, as if the text went on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import DynamicCache

from vtc.llm.frozen import FrozenLM
from vtc.readers.kv.attention import Observation, attending
from vtc.readers.kv.rotation import rotated

INSTRUCTION = "\n\nRepeat the text above word for word.\n\n"


@dataclass(frozen=True)
class Layer:
    """One layer of a document of n tokens that was read after k others.

    Query heads share KV heads in groups; rows are those of a group together.
    """

    keys: torch.Tensor
    """[KV, k + n, d]."""
    values: torch.Tensor
    """[KV, k + n, d]."""
    queries: torch.Tensor
    """[KV, 2, rows, d]: moved ones of the first pass, and those of the second."""
    unseen: torch.Tensor | None
    """bool [2, rows, k + n]: what a query is too far away from; None where the layer sees everything."""
    reach: torch.Tensor
    """[KV, n]: largest norm of a value behind its output projection, relative to the layer's input."""
    scaling: float


@dataclass(frozen=True)
class Observed:
    """All layers of it."""

    layers: Sequence[Layer]
    opening: int
    """k."""
    count: int
    """n."""


@torch.inference_mode()
def observe(llm: FrozenLM, opening: np.ndarray, ids: np.ndarray, most_rows: int | None = None) -> Observed:
    """Read `opening`, int32 [k], and the document, int32 [n], then repeat the document.

    Args:
        most_rows: queries of a head that are kept of each pass, at even distances; None keeps all.
    """
    instruction = llm.vocabulary.encode(INSTRUCTION)
    k, n = len(opening), len(ids)
    rows = torch.linspace(0, n - 1, min(n, most_rows or n)).round().long().to(llm.device)
    first, second = Observation(rows=rows + k), Observation(rows=rows + len(instruction))
    with attending(llm.model, None, first):
        # The cache is made here, so that layers with a window keep all that they read.
        cache = llm.prefill(np.concatenate([opening, ids]), DynamicCache())
    read = [(layer.keys[0], layer.values[0]) for layer in cache.layers]  # the second pass makes new tensors
    with attending(llm.model, None, second):
        llm.prefill(np.concatenate([instruction, ids]), cache)
    places = torch.stack([k + n + rows, k + n + len(instruction) + rows])  # [2, rows]
    layers = []
    for number, (module, (keys, values)) in enumerate(zip(attentions(llm.model), read, strict=True)):
        moved = rotated(llm.model, first.queries[number], n, number)  # [heads, rows, d]
        queries = torch.stack([moved, second.queries[number]], 1)  # [heads, 2, rows, d]
        group = len(queries) // len(keys)
        grouped = queries.unflatten(0, (-1, group)).transpose(1, 2).flatten(2, 3)  # [KV, 2, group * rows, d]
        reach = reach_of(module, values[:, k:]) / first.norms[number]
        window, unseen = second.windows[number], None
        if window is not None:
            unseen = (places[..., None] - torch.arange(k + n, device=rows.device) >= window).repeat(1, group, 1)
        layers.append(Layer(keys, values, grouped, unseen, reach, float(module.scaling)))
    return Observed(layers, k, n)


def attentions(model: Any) -> list[Any]:
    """The attention module of every layer, in order."""
    return [layer.self_attn for layer in model.base_model.get_submodule("layers")]


def reach_of(module: Any, values: torch.Tensor) -> torch.Tensor:
    """Largest norm of values [KV, n, d] behind the output projection, over the query heads that read them: [KV, n]."""
    heads, _, d = values.shape
    weight = module.o_proj.weight.float().unflatten(1, (heads, -1, d))  # [D, KV, group, d]
    # |W v| needs only the small Gram matrix of W: one d x d product instead of D x d for every value.
    gram = torch.einsum("ohgd,ohge->hgde", weight, weight)  # [KV, group, d, d]
    squares = torch.einsum("hnd,hgde,hne->hgn", values.float(), gram, values.float())
    return squares.clamp_min(0).sqrt().amax(1)
