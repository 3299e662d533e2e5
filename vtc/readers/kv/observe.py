"""Read a page once, and see which of its entries later readers look at.

Nobody knows the question yet. Two kinds of queries stand for it: those of a second pass in which the model repeats the
page after an instruction (KVzip, arXiv 2505.23416), so that every detail is looked up once, and those of the first
pass, moved to positions just after the page, as if the text went on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from vtc.llm.frozen import FrozenLM, untouched
from vtc.readers.kv.attention import Observation, attending
from vtc.readers.kv.cache import CompactCache, Kept
from vtc.readers.kv.rotation import rotated

INSTRUCTION = "\n\nRepeat the text above word for word.\n\n"


@dataclass(frozen=True)
class Layer:
    """One layer of a page of n tokens that was read on top of what was kept before.

    Query heads share KV heads in groups; rows are those of a group together.
    """

    before: Kept
    keys: torch.Tensor
    """[KV, n, d]."""
    values: torch.Tensor
    """[KV, n, d]."""
    queries: torch.Tensor
    """[KV, 2, rows, d]: moved ones of the first pass, and those of the second."""
    first: int
    """Position of the page's first token."""
    places: torch.Tensor
    """int64 [2 * rows], positions of the queries."""
    window: int | None
    """How far back the layer sees; None is all the way."""
    reach: torch.Tensor
    """[KV, n]: largest norm of a value behind its output projection, relative to the layer's input."""
    scaling: float


@torch.inference_mode()
def observe(llm: FrozenLM, cache: CompactCache, ids: np.ndarray, most_rows: int | None = None) -> list[Layer]:
    """Read a page, int32 [n], on top of `cache`, then repeat it; the cache is left as it was.

    Args:
        most_rows: queries of a head that are kept of each pass, at even distances; None keeps all.

    Returns:
        What each layer showed. The repetition may stand beyond the model's window: only its queries are used.
    """
    instruction = llm.vocabulary.encode(INSTRUCTION)
    start, n = cache.get_seq_length(), len(ids)
    rows = torch.linspace(0, n - 1, min(n, most_rows or n)).round().long().to(llm.device)
    first, second = Observation(rows=rows), Observation(rows=rows + len(instruction))
    with untouched(cache):
        with attending(llm.model, cache, first):
            llm.prefill(ids, cache)
        read = [(layer.keys[0], layer.values[0]) for layer in cache.layers]  # the second pass makes new tensors
        with attending(llm.model, cache, second):
            llm.prefill(np.concatenate([instruction, ids]), cache, beyond=True)
    places = torch.stack([start + n + rows, start + n + len(instruction) + rows])  # [2, rows]
    layers = []
    for number, (module, kept, (keys, values)) in enumerate(zip(attentions(llm.model), cache.kept, read, strict=True)):
        moved = rotated(llm.model, first.queries[number], n, number)  # [heads, rows, d]
        queries = torch.stack([moved, second.queries[number]], 1)  # [heads, 2, rows, d]
        group = len(queries) // len(keys)
        layers.append(
            Layer(
                before=kept,
                keys=keys,
                values=values,
                queries=queries.unflatten(0, (-1, group)).transpose(1, 2).flatten(2, 3),
                first=start,
                places=places.repeat(1, group).flatten(),
                window=second.windows[number],
                reach=reach_of(module, values) / first.norms[number],
                scaling=float(module.scaling),
            )
        )
    return layers


def attentions(model: Any) -> Sequence[Any]:
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
