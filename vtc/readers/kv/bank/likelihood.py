"""Which pages make a question likely: log P(question | page), as language models rank passages (Ponte and Croft 1998,
Sachan et al. 2022, arXiv 2204.07496). A page that answers a question tells the model what it will be asked."""

from __future__ import annotations

import numpy as np
import torch

from vtc.llm.frozen import FrozenLM, attended, untouched
from vtc.readers.kv.cache import CompactCache


@torch.inference_mode()
def likelihood(llm: FrozenLM, cache: CompactCache, rows: int, ids: np.ndarray, first: int) -> torch.Tensor:
    """Log-probability in nats of ids[first:], each given the ids before it and the row's own page: float32 [rows].

    Args:
        cache: pages beside one another, see `place.beside`.
        ids: int32 [n], read on top of every page; 1 <= first < n.
    """
    batch = torch.as_tensor(ids, dtype=torch.int64, device=llm.device).expand(rows, -1)  # [rows, n]
    asked = batch[:, first:]
    with attended(llm.model, cache), untouched(cache):
        read = llm.model(
            input_ids=batch[:, :-1], use_cache=True, logits_to_keep=asked.shape[1], **{llm._cache_word: cache}
        )
    found = read.logits.float().log_softmax(-1).gather(-1, asked[..., None])  # [rows, asked, 1]
    return found.sum((1, 2))
