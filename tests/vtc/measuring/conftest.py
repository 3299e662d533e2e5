"""The tiny random model of the LLM's own tests: each token is a byte, its window is 1,200 tokens."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from vtc.llm.frozen import FrozenLM


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tiny_folder = load(Path(__file__).parents[1] / "llm" / "conftest.py").tiny_folder


@pytest.fixture(scope="session")
def tiny(tiny_folder: Path) -> FrozenLM:
    return FrozenLM.load(tiny_folder, device="cpu")
