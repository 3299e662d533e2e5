"""Attention of a model over a compacted cache, and a look at its queries: one registered function does both.

Inside `attending` the model's attention implementation is `vtc`; on the way out it is what it was. Scores of kept
entries are q k / sqrt(d) + bias, so that one entry can have the weight of all that it stands for.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, sdpa_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from vtc.readers.kv.cache import CompactCache
from vtc.records.errors import UsageError

NAME = "vtc"


@dataclass
class Observation:
    """What a pass over the model showed."""

    queries: dict[int, torch.Tensor] = field(default_factory=dict)
    """By layer, rotated queries [heads, rows, d]."""
    windows: dict[int, int | None] = field(default_factory=dict)
    """By layer, how far back it sees; None is all the way."""
    rows: torch.Tensor | None = None
    """int64: which positions of the pass are kept; None keeps all."""


@dataclass(frozen=True)
class _State:
    cache: CompactCache | None
    observation: Observation | None


_state: ContextVar[_State | None] = ContextVar("vtc_kv", default=None)


@contextmanager
def attending(model: Any, cache: Any = None, observation: Observation | None = None) -> Iterator[None]:
    """Let a transformers model attend over a `CompactCache`, and note its queries where an observation is given.

    Args:
        cache: a `CompactCache`; any other cache, or none, is attended to as usual.
    """
    outer = _state.get()
    # A cache that the model enters by itself, inside a block that looks at queries, does not end the look.
    watching = outer.observation if observation is None and outer is not None else observation
    configs = {id(config): config for config in (model.config, model.config.get_text_config())}.values()
    before = [config._attn_implementation for config in configs]
    token = _state.set(_State(cache if isinstance(cache, CompactCache) else None, watching))
    try:
        for config in configs:
            config._attn_implementation = NAME
        yield
    finally:
        for config, name in zip(configs, before, strict=True):
            config._attn_implementation = name
        _state.reset(token)


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """The function that transformers calls; query [batch, heads, t, d], key and value [batch, KV heads, m, d].

    Raises:
        UsageError: the model caps its scores, which a bias would not pass through.
    """
    state = _state.get()
    layer: int = module.layer_idx  # type: ignore[assignment]
    if state and state.observation is not None:
        rows = state.observation.rows
        state.observation.queries[layer] = query[0] if rows is None else query[0, :, rows]
        state.observation.windows[layer] = options.get("sliding_window")
    if state is None or state.cache is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, scaling=scaling, **options)
    if options.get("softcap"):
        raise UsageError("reader 'kv': models that cap their attention scores are not supported")
    held = state.cache.layers[layer]
    group, count = query.shape[1] // key.shape[1], query.shape[2]
    last = held.get_seq_length()  # the keys at hand are in the cache already
    places = torch.arange(last - count, last, device=query.device)  # [t]
    window = options.get("sliding_window")
    found = []
    for head, (keys, values, bias, index) in enumerate(held.kept.heads()):
        q = query[:, head * group : (head + 1) * group]  # [batch, group, t, d]
        k = torch.cat([keys.expand(len(query), -1, -1), key[:, head]], 1)[:, None]  # [batch, 1, n + m, d]
        v = torch.cat([values.expand(len(query), -1, -1), value[:, head]], 1)[:, None]
        over = bias.to(q.dtype).expand(len(query), 1, count, -1)
        if window:
            over = over.masked_fill(places[:, None] - index >= window, float("-inf"))
        mask = torch.cat([over, _additive(attention_mask, q, key.shape[2])], -1)
        shape = (-1, group, -1, -1)
        found.append(scaled_dot_product_attention(q, k.expand(shape), v.expand(shape), mask, scale=scaling))
    return torch.cat(found, 1).transpose(1, 2).contiguous(), None


def _additive(mask: torch.Tensor | None, query: torch.Tensor, count: int) -> torch.Tensor:
    """The model's mask for what is read on top, as numbers to add: [batch, 1, t, m]."""
    shape = (query.shape[0], 1, query.shape[2], count)
    if mask is None:  # causal, its last row sees all
        seen = torch.ones(shape[2:], dtype=torch.bool, device=query.device).tril(count - shape[2])
    else:
        seen = mask[..., -count:] if mask.dtype == torch.bool else mask[..., -count:] > -1
    nothing = torch.zeros(shape, dtype=query.dtype, device=query.device)
    return nothing.masked_fill(~seen, float("-inf"))


def _mask(*arguments: Any, **options: Any) -> torch.Tensor | None:
    options["allow_is_causal_skip"] = False
    mask: torch.Tensor | None = sdpa_mask(*arguments, **options)
    return mask


ALL_ATTENTION_FUNCTIONS.register(NAME, attend)
ALL_MASK_ATTENTION_FUNCTIONS.register(NAME, _mask)
