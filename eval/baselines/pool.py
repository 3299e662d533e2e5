"""Mean-pooling at equal positions: every input vector is the mean of the embeddings of a block of tokens.

Nothing is trained, and a model has never seen such vectors: it stands in the table because whatever is trained to make
input vectors must beat it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from eval.baselines.truncate import budget, check_ratio
from vtc.readers.memory import Memory, MemoryReader


@dataclass
class PoolReader(MemoryReader):
    """Pools neighbouring input embeddings into as many vectors as the ratio allows."""

    name: ClassVar[str] = "pool"
    ratio: float = 8.0
    """Tokens of the document for each vector."""

    def __post_init__(self) -> None:
        check_ratio(self.ratio)

    def remember(self, opening: np.ndarray) -> Memory:
        """Blocks of nearly equal length."""
        rows = self.llm.embeddings
        count = budget(len(self.ids), self.ratio)
        self.check_entries(len(opening) + count)
        pooled = pool(rows[torch.as_tensor(self.ids.astype(np.int64), device=rows.device)], count)
        first = rows[torch.as_tensor(opening.astype(np.int64), device=rows.device)]
        cache = self.llm.prefill_vectors(torch.cat([first, pooled]))
        return Memory(cache, count, [(0, self.about["text_bytes"])])


def pool(rows: torch.Tensor, count: int) -> torch.Tensor:
    """Means of `count` blocks of rows [n, d] whose lengths differ by one at most: [count, d], count <= n."""
    block = torch.arange(len(rows), device=rows.device) * count // len(rows)  # [n]
    sums = torch.zeros(count, rows.shape[1], dtype=rows.dtype, device=rows.device).index_add_(0, block, rows)
    return sums / torch.bincount(block, minlength=count)[:, None]
