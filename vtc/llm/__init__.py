"""The frozen LLM and its vocabulary. `FrozenLM` needs torch and is imported on first use; `Vocabulary` does not."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vtc.llm.frozen import FrozenLM
    from vtc.llm.vocabulary import Vocabulary

__all__ = ["FrozenLM", "Vocabulary"]

_HOMES = {"FrozenLM": "vtc.llm.frozen", "Vocabulary": "vtc.llm.vocabulary"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
