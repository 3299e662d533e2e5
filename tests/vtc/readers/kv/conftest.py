"""Tiny random models of the kinds that reader `kv` must serve."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from vtc.llm.frozen import FrozenLM
from vtc.llm.vocabulary import Vocabulary


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tiny_folder = load(Path(__file__).parents[2] / "llm" / "conftest.py").tiny_folder

SIZES: dict[str, Any] = dict(
    vocab_size=264,
    hidden_size=32,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=600,
    initializer_range=0.3,
    tie_word_embeddings=False,
    eos_token_id=257,
    pad_token_id=258,
)
TURNS = ["sliding_attention", "full_attention"]
MODELS: dict[str, Any] = {
    "llama": lambda: LlamaForCausalLM(LlamaConfig(**SIZES)),
    "qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(**SIZES)),
    "qwen3": lambda: Qwen3ForCausalLM(Qwen3Config(head_dim=16, **SIZES)),
    "mistral": lambda: MistralForCausalLM(MistralConfig(sliding_window=24, **SIZES)),
    "gemma3": lambda: Gemma3ForCausalLM(Gemma3TextConfig(head_dim=8, layer_types=TURNS, sliding_window=24, **SIZES)),
}


@pytest.fixture(scope="session", params=sorted(MODELS))
def lm(request: pytest.FixtureRequest, tiny_folder: Path) -> FrozenLM:
    """Each of them in turn, random weights from one seed."""
    torch.manual_seed(3)
    return FrozenLM(MODELS[request.param](), Vocabulary.load(tiny_folder), request.param)
