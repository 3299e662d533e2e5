"""A small random glyph table and the real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from vtc.glyphs.table import GlyphTable
from vtc.records.errors import VtcError


class SmallTable(SimpleNamespace):
    """What a codec asks of a glyph table."""

    def __len__(self) -> int:
        return len(self.features)


@pytest.fixture(scope="session")
def make_table() -> Callable[..., SmallTable]:
    """Tables of random unit features."""

    def make(symbols: int = 500, rank: int = 64, seed: int = 0) -> SmallTable:
        features = np.random.default_rng(seed).standard_normal((symbols, rank)).astype(np.float32)
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        return SmallTable(features=features, name="random", vocabulary_hash="0" * 64)

    return make


@pytest.fixture(scope="session")
def small_table(make_table: Callable[..., SmallTable]) -> SmallTable:
    """500 symbols, 64 dimensions."""
    return make_table()


@pytest.fixture(scope="session")
def real_table() -> GlyphTable:
    """The default LLM's table; tests that need it are skipped where `make artefacts` has not run."""
    try:
        return GlyphTable.load()
    except VtcError as error:
        pytest.skip(str(error))


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """The batches here are too small for more threads to pay."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
