"""Fixtures that many tests share: the default LLM and its vocabulary, loaded once, and a byte-level stand-in."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from vtc.llm import smollm2
from vtc.records.errors import VtcError

if TYPE_CHECKING:
    from types import ModuleType

    from vtc.llm.frozen import FrozenLM
    from vtc.llm.vocabulary import Vocabulary


@pytest.fixture(scope="session")
def llm_folder() -> Path:
    """Folder of the default LLM; tests that need it are skipped where it can not be fetched."""
    try:
        return smollm2.ensure()
    except VtcError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def vocabulary(llm_folder: Path) -> Vocabulary:
    """Vocabulary of the default LLM."""
    from vtc.llm.vocabulary import Vocabulary

    return Vocabulary.load(llm_folder)


@pytest.fixture(scope="session")
def llm(llm_folder: Path) -> FrozenLM:
    """The default LLM on the CPU."""
    from vtc.llm.frozen import FrozenLM

    return FrozenLM.load(llm_folder, device="cpu")


@pytest.fixture(scope="session")
def byte_level() -> ModuleType:
    """The module `byte_level.py`: a small tokenizer and a stand-in for its glyph table."""
    spec = importlib.util.spec_from_file_location("byte_level", Path(__file__).with_name("byte_level.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def byte_table(byte_level: ModuleType, monkeypatch: pytest.MonkeyPatch) -> object:
    """`vtc.api` with that tokenizer and that table instead of the default LLM's."""
    return byte_level.install(monkeypatch)
