"""A key/value cache in which every KV head keeps as many entries of the document as it needs: ragged, nothing padded.

To the model it is as long as what was read: its length counts tokens SEEN, so that a question gets the positions it
would have after the whole document. What is read on top of it (question, answer) stands in ordinary tensors behind the
kept entries, and is taken off again by `crop`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicLayer


@dataclass(frozen=True)
class Kept:
    """What one layer keeps, all KV heads one after another."""

    keys: torch.Tensor
    """[n, d], rotated to the positions where they stood."""
    values: torch.Tensor
    """[n, d]."""
    bias: torch.Tensor
    """[n], added to the scores; log of how many entries' weight one stands for."""
    index: torch.Tensor
    """int32 [n], positions where they stood."""
    counts: tuple[int, ...]
    """Entries of each KV head; their sum is n."""

    def heads(self) -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]]:
        """Keys, values, bias and index of every KV head."""
        parts = (part.split(list(self.counts)) for part in (self.keys, self.values, self.bias, self.index))
        return list(zip(*parts, strict=True))

    @classmethod
    def of(cls, heads: Sequence[tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]]) -> Kept:
        """From keys, values, bias and index of every KV head."""
        keys, values, bias, index = (torch.cat(parts) for parts in zip(*heads, strict=True))
        return cls(keys, values, bias, index.to(torch.int32), tuple(len(head[0]) for head in heads))

    @property
    def scalars(self) -> int:
        """Numbers that attention reads: keys, values, biases."""
        return self.keys.numel() + self.values.numel() + self.bias.numel()


class CompactLayer(DynamicLayer):
    """One layer: the kept entries, shared by all rows of a batch, and what was read on top, [batch, heads, m, d]."""

    is_sliding = False  # the window is applied to the kept entries by their index, see `attention`

    def __init__(self, kept: Kept, seen: int) -> None:
        super().__init__()
        self.kept = kept
        self.seen = seen

    def get_seq_length(self) -> int:
        """Tokens seen: those that the kept entries stand for, and those read on top."""
        return self.seen + self._on_top()

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """The model's mask covers what is read on top; the kept entries precede all of it."""
        return self._on_top() + query_length, self.seen

    def crop(self, tokens_to_remove: int) -> None:
        """Take off the last tokens that were read on top."""
        if tokens_to_remove and self._on_top() < abs(tokens_to_remove):
            raise ValueError(f"can take off {self._on_top()} tokens at most, not {abs(tokens_to_remove)}")
        super().crop(tokens_to_remove)

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Repeat what was read on top along the batch."""
        if self._on_top():
            super().batch_repeat_interleave(repeats)

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Choose rows of the batch."""
        if self._on_top():
            super().batch_select_indices(indices)

    def reorder_cache(self, beam_idx: torch.LongTensor) -> None:
        """Reorder rows of the batch, as beam search does."""
        if self._on_top():
            super().reorder_cache(beam_idx)

    def _on_top(self) -> int:
        return super().get_seq_length()


class CompactCache(Cache):
    """All layers of a compacted document; a model reads it inside `attending`."""

    def __init__(self, kept: Sequence[Kept], seen: int) -> None:
        super().__init__(layers=[CompactLayer(layer, seen) for layer in kept])

    def attending(self, model: Any) -> AbstractContextManager[None]:
        """A block in which a transformers model attends over this cache: `with cache.attending(model): model(..)`."""
        from vtc.readers.kv.attention import attending  # which knows this class

        return attending(model, self)

    @property
    def kept(self) -> list[Kept]:
        """What each layer keeps."""
        return [layer.kept for layer in self.layers]

    @property
    def entries(self) -> float:
        """Entries for which the kept scalars would suffice in a plain cache, on average over layers and heads."""
        scalars = sum(layer.scalars for layer in self.kept)
        heads = sum(len(layer.counts) for layer in self.kept)
        return scalars / (2 * self.kept[0].keys.shape[1] * heads)
