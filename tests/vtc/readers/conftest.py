"""A stand-in for the frozen LLM whose answer is its prompt, and a tiny random model."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class Seen:
    """In place of a key/value cache: the ids that were read."""

    ids: np.ndarray

    def get_seq_length(self) -> int:
        return len(self.ids)


@dataclass
class Echo:
    """Answers with the beginning of all that it was given, one token at a time."""

    vocabulary: Any
    window: int = 100_000
    name: str = "echo"
    start: int = 10
    reads: list[int] = field(default_factory=list)
    """Tokens of each prefill."""

    def chat_around(self, before: str, after: str) -> tuple[np.ndarray, np.ndarray]:
        return self.vocabulary.encode(f"<{before}"), self.vocabulary.encode(f"{after}>")

    def prefill(self, ids: np.ndarray) -> Seen:
        assert 0 < len(ids) <= self.window
        self.reads.append(len(ids))
        return Seen(ids.copy())

    def generate(self, ids: np.ndarray, max_new_tokens: int, cache: Seen | None = None) -> Iterator[bytes]:
        given = ids if cache is None else np.concatenate([cache.ids, ids])
        assert len(ids) > 0 and 0 < max_new_tokens <= self.window - len(given), "the answer would not fit"
        return (self.vocabulary.token_bytes[i] for i in given[:max_new_tokens])


@pytest.fixture
def echo(byte_level: ModuleType) -> Echo:
    return Echo(byte_level.vocabulary())
