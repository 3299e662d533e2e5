"""A stand-in for the frozen LLM whose answer is its prompt, and a tiny random model."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tiny_folder = load(Path(__file__).parents[1] / "llm" / "conftest.py").tiny_folder


@dataclass
class Echo:
    """Answers with the beginning of its prompt, one token at a time."""

    vocabulary: Any
    window: int = 100_000
    name: str = "echo"

    def chat(self, user: str) -> np.ndarray:
        return self.vocabulary.encode(f"<{user}>")

    def generate(self, ids: np.ndarray, max_new_tokens: int) -> Iterator[bytes]:
        assert 0 < max_new_tokens <= self.window - len(ids), "the answer would not fit into the window"
        return (self.vocabulary.token_bytes[i] for i in ids[:max_new_tokens])


@pytest.fixture
def echo(byte_level: ModuleType) -> Echo:
    return Echo(byte_level.vocabulary())
