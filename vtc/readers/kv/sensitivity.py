"""How much the model's predictions suffer where a head's output is off.

A small error e of a head's output costs on average e' F e / 2 nats a token, F the Fisher information of the predictions
with respect to that output (Amari 1998). It differs by orders of magnitude between layers, hardly between texts, so it
is estimated once a model, from a short text that comes with vtc, and kept in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from vtc.llm.frozen import FrozenLM
from vtc.records.artefact import load_artefact, save_artefact
from vtc.records.errors import VtcError
from vtc.records.paths import cache_dir

KIND = "sensitivity"
MOST = 1024
"""Tokens of the text that are read at most."""

_known: WeakKeyDictionary[FrozenLM, torch.Tensor] = WeakKeyDictionary()


def sensitivity(llm: FrozenLM) -> torch.Tensor:
    """A root of the Fisher information of every query head, float32 [layers, heads, d, d]: |e @ root|^2 = e' F e."""
    if llm not in _known:
        # Weights in another precision are other weights, and get a file of their own.
        path = cache_dir() / KIND / f"{llm.identity}.safetensors"
        try:
            fisher = torch.from_numpy(load_artefact(path, KIND)[0]["fisher"]).to(llm.device)
        except VtcError:  # none yet, or damaged
            text = (files("vtc") / "data" / "calibration.txt").read_text(encoding="utf-8")
            fisher = measured(llm, llm.vocabulary.encode(text)[: min(MOST, llm.window - 1)])
            save_artefact(path, KIND, {"fisher": fisher.cpu().numpy()}, {"llm": llm.name})
        _known[llm] = root(fisher)
    return _known[llm]


def root(matrix: torch.Tensor) -> torch.Tensor:
    """R with R R' = matrix, for symmetric matrices [.., d, d] without negative eigenvalues but for rounding."""
    values, vectors = torch.linalg.eigh(matrix)
    return vectors * values.clamp_min(0).sqrt()[..., None, :]


def measured(llm: FrozenLM, ids: np.ndarray) -> torch.Tensor:
    """The Fisher information [layers, heads, d, d] on a text, ids int32 [n].

    One backward pass: the score of labels that the model itself would draw, summed over later tokens, as an error made
    at one token spreads to those that attend to it.
    """
    batch = torch.from_numpy(np.concatenate([[llm.start], ids])).long().to(llm.device)[None]
    with torch.inference_mode(False), torch.enable_grad(), _outputs(llm.model) as outputs:
        vectors = llm.model.get_input_embeddings()(batch).detach().clone().requires_grad_()
        logits = llm.model(inputs_embeds=vectors, use_cache=False).logits[0, :, : llm.vocabulary.size].float()
        chance = torch.rand(len(logits), 1, generator=torch.Generator().manual_seed(0)).to(logits.device)
        with torch.no_grad():
            labels = (logits.softmax(-1).cumsum(-1) < chance).sum(-1).clamp_max(logits.shape[-1] - 1)
        gradients = torch.autograd.grad(cross_entropy(logits, labels, reduction="sum"), outputs)
    found = []
    for module, gradient in zip(attentions(llm.model), gradients, strict=True):
        parts = gradient[0].float().unflatten(-1, (-1, module.head_dim))  # [n, heads, d]
        found.append(torch.einsum("nhd,nhe->hde", parts, parts) / len(parts))
    return torch.stack(found)


@contextmanager
def _outputs(model: Any) -> Iterator[list[torch.Tensor]]:
    """What the heads of each layer put out, [1, n, heads * d], for a pass inside the block."""
    found: list[torch.Tensor] = []
    hooks = [
        module.o_proj.register_forward_pre_hook(lambda _, arguments: found.append(arguments[0]))
        for module in attentions(model)
    ]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def attentions(model: Any) -> list[Any]:
    """The attention module of every layer, in order."""
    return [layer.self_attn for layer in model.base_model.get_submodule("layers")]
