"""What the second pass would show, told from the first: the scores of a page without repeating it.

A linear map for every layer takes what its attention reads of a token, and the logarithms of what the first pass says
of the token's entries, to the logarithm of what the second pass would say of them. KVzap (arXiv 2601.07891) maps hidden
states to whole scores; here the first pass counts as it was seen and only its complement is predicted, which is
nearer. The maps belong to one model's weights; `train.scorer` makes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch

from vtc.llm.frozen import FrozenLM
from vtc.readers.kv.observe import Layer
from vtc.readers.kv.score import USUAL, Weights
from vtc.readers.kv.sensitivity import attentions
from vtc.records.artefact import load_artefact, save_artefact
from vtc.records.errors import VtcError
from vtc.records.paths import artifacts_dir

KIND = "scorer"
VERSION = 1
TINY = 1e-12
"""Added before the logarithm; losses are in squared nats of errors, and below it nothing is worth an entry."""
TRAIN = "train one with accelerate launch -m train.scorer --config train/configs/scorer.yaml llm=SPEC"

_known: WeakKeyDictionary[FrozenLM, Surrogate] = WeakKeyDictionary()


@dataclass(frozen=True)
class Surrogate:
    """The maps of all layers."""

    weight: torch.Tensor
    """float32 [layers, KV, D + KV + 1], for `features`."""

    def predicted(self, seen: torch.Tensor, hidden: Sequence[torch.Tensor]) -> torch.Tensor:
        """What the second pass would say, [layers, KV, n], from what the first says, [layers, KV, n].

        Args:
            hidden: what attention reads in each layer, [n, D].
        """
        told = [features(*pair) @ weight.T for *pair, weight in zip(hidden, seen, self.weight, strict=True)]
        return torch.stack(told).transpose(1, 2).exp()

    def scores(
        self, layers: Sequence[Layer], weights: Sequence[Weights], hidden: Sequence[torch.Tensor]
    ) -> torch.Tensor:
        """In the place of `vtc.readers.kv.score.loss`, [layers, KV, n]."""
        seen = lost(layers, weights, 0)
        return (USUAL * seen + self.predicted(seen, hidden)).sqrt()


def lost(layers: Sequence[Layer], weights: Sequence[Weights], kind: int) -> torch.Tensor:
    """What the predictions lose without each entry in the mean over queries of one kind, [layers, KV, n]."""
    pairs = zip(weights, layers, strict=True)
    return torch.stack([torch.einsum("kgn,kgn->kn", found.energy[:, kind], layer.loss) for found, layer in pairs])


def features(hidden: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """float32 [n, D + KV + 1] of one layer, from what its attention reads, [n, D], and what the first pass says of its
    entries, [KV, n]."""
    return torch.cat([hidden.float(), logarithm(seen).T, seen.new_ones(len(hidden), 1)], 1)


def logarithm(losses: torch.Tensor) -> torch.Tensor:
    """What is predicted, and predicted from."""
    return (losses + TINY).log()


@contextmanager
def inputs(model: Any) -> Iterator[list[torch.Tensor]]:
    """What attention reads in each layer, [n, D], normalised, in the first pass over one page inside the block."""
    modules = attentions(model)
    found: list[torch.Tensor] = []

    def note(_: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        if len(found) < len(modules):
            found.append((arguments[0] if arguments else named["hidden_states"])[0])

    hooks = [module.register_forward_pre_hook(note, with_kwargs=True) for module in modules]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def scorer_path(name: str, made: bool = False) -> Path:
    """Where the maps of the LLM `name` lie: among the built artefacts, or else, unless they are to be `made`, where
    those lie that ship with vtc."""
    file = f"scorer-{name.replace('/', '--')}.safetensors"
    built = artifacts_dir() / file
    return built if made or built.exists() else Path(__file__).parents[2] / "data" / file


def surrogate(llm: FrozenLM) -> Surrogate:
    """The maps of a model, loaded once.

    Raises:
        VtcError: there are none, they are damaged, or were trained on other weights.
    """
    if llm not in _known:
        path = scorer_path(llm.name)
        if not path.exists():
            raise VtcError(f"{path.name}: no scorer for {llm.name}, which --fast needs; {TRAIN}, or leave out --fast")
        _known[llm] = load(path, llm)
    return _known[llm]


def load(path: Path, llm: FrozenLM) -> Surrogate:
    """The maps in a file.

    Raises:
        VtcError: it is missing or damaged, or was made for other weights than those of `llm`.
    """
    tensors, header = load_artefact(path, KIND)
    if header.get("fingerprint") != llm.identity:
        raise VtcError(
            f"{path}: was trained on {header.get('llm')!r} ({str(header.get('fingerprint'))[:12]}) and this model is "
            f"{llm.name!r} ({llm.identity[:12]}); {TRAIN}, or leave out --fast"
        )
    if header.get("version") != VERSION:
        raise VtcError(f"{path}: is of version {header.get('version')}, not {VERSION}; {TRAIN}")
    return Surrogate(torch.from_numpy(tensors["weight"]).float().to(llm.device))


def save(path: Path, found: Surrogate, llm: FrozenLM, meta: dict[str, Any]) -> str:
    """Write the maps in float16, stamped with the model's fingerprint; returns the content hash."""
    weight = found.weight.cpu().numpy().astype(np.float16)
    about = {**meta, "version": VERSION, "llm": llm.name, "fingerprint": llm.identity}
    return save_artefact(path, KIND, {"weight": weight}, about)
