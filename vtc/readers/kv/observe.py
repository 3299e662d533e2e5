"""Read a page once, and see which of its entries later readers look at.

Nobody knows the question yet. Two kinds of queries stand for it: those of a second pass in which the model repeats the
page after an instruction (KVzip, arXiv 2505.23416), so that every detail is looked up once, and those of the first
pass, moved to positions just after the page, as if the text went on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from vtc.llm.frozen import FrozenLM, untouched
from vtc.readers.kv.attention import Observation, attending
from vtc.readers.kv.cache import CompactCache, Kept
from vtc.readers.kv.rotation import rotated
from vtc.readers.kv.sensitivity import attentions, sensitivity

INSTRUCTION = "\n\nRepeat the text above word for word.\n\n"


@dataclass(frozen=True)
class Layer:
    """One layer of a page of n tokens that was read on top of what was kept before."""

    before: Kept
    keys: torch.Tensor
    """[KV, n, d]."""
    values: torch.Tensor
    """[KV, n, d]."""
    queries: torch.Tensor
    """[KV, kinds, group, rows, d]: moved ones of the first pass, and those of the second if there was one, of the query
    heads that share a KV head."""
    first: int
    """Position of the page's first token."""
    places: torch.Tensor
    """int64 [kinds, 1, rows], positions of the queries."""
    window: int | None
    """How far back the layer sees; None is all the way."""
    loss: torch.Tensor
    """[KV, group, n]: what an error as large as the value costs, `vtc.readers.kv.sensitivity`."""
    scaling: float


@torch.inference_mode()
def observe(
    llm: FrozenLM, cache: CompactCache, ids: np.ndarray, most_rows: int | None = None, repeat: bool = True
) -> list[Layer]:
    """Read a page, int32 [n], on top of `cache`, then repeat it; the cache is left as it was.

    Args:
        most_rows: queries of a head that are kept of each pass, at even distances; None keeps all.
        repeat: make the second pass.

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
        if repeat:
            with attending(llm.model, cache, second):
                llm.prefill(np.concatenate([instruction, ids]), cache, beyond=True)
    places = torch.stack([start + n + rows, start + n + len(instruction) + rows][: 1 + repeat])  # [kinds, rows]
    layers = []
    parts = zip(attentions(llm.model), cache.kept, read, sensitivity(llm), strict=True)
    for number, (module, kept, (keys, values), roots) in enumerate(parts):
        moved = rotated(llm.model, first.queries[number], n, number)  # [heads, rows, d]
        kinds = [moved, second.queries[number]] if repeat else [moved]
        queries = torch.stack(kinds, 1).unflatten(0, (len(keys), -1))
        errors = torch.einsum("knd,kgde->kgne", values.float(), roots.unflatten(0, (len(keys), -1)))
        layers.append(
            Layer(
                before=kept,
                keys=keys,
                values=values,
                queries=queries.transpose(1, 2).contiguous(),
                first=start,
                places=places[:, None],
                window=first.windows[number],
                loss=errors.square().sum(-1),
                scaling=float(module.scaling),
            )
        )
    return layers
