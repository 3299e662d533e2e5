"""The tiny random model of the LLM's own tests, for training on what it reads."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tiny_folder = load(Path(__file__).parents[1] / "vtc" / "llm" / "conftest.py").tiny_folder
