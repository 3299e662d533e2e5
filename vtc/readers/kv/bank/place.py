"""Pages that were read alone, put behind one another or beside one another.

A page keeps the distances among its own entries wherever it stands: all of its keys turn by the same angle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch.nn.utils.rnn import pad_sequence

from vtc.llm.frozen import FrozenLM
from vtc.readers.kv.cache import CompactCache, Kept
from vtc.readers.kv.rotation import rotated

Entries = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]
"""Keys, values, bias and index of one head."""

AXES = (1, 1, -1, -1)
"""Where `Beside` counts entries: in keys, values, bias, index."""


@dataclass(frozen=True)
class Beside(Kept):
    """What one layer keeps of several pages, one for each row of a batch: keys and values [batch, n, d], bias and
    index [batch, 1, 1, n]. Heads of unequal pages are padded with entries that nothing attends to."""

    def heads(self) -> list[Entries]:
        """Keys, values, bias and index of every KV head."""
        fields = (self.keys, self.values, self.bias, self.index)
        parts = (part.split(list(self.counts), axis) for part, axis in zip(fields, AXES, strict=True))
        return list(zip(*parts, strict=True))


def without(cache: CompactCache, opening: int) -> CompactCache:
    """A page read right after `opening` tokens, without them, in float16."""
    heads = [[tuple(part[opening:] for part in head) for head in kept.heads()] for kept in cache.kept]
    return halved(CompactCache([Kept.of(layer) for layer in heads], cache.get_seq_length()))  # type: ignore[arg-type]


def halved(cache: CompactCache) -> CompactCache:
    """A page in float16; what is so already is not copied."""
    return CompactCache([in_form(kept, torch.float16) for kept in cache.kept], cache.get_seq_length())


def behind(llm: FrozenLM, sink: CompactCache, pages: Sequence[CompactCache], gap: int = 0) -> CompactCache:
    """Pages that were each read right after `sink`, now all after it, one behind the other, in the order given.

    Args:
        pages: as `without` leaves them.
        gap: positions that stay empty behind the last page.
    """
    start = sink.get_seq_length()
    moves = [0]
    for page in pages:
        moves.append(moves[-1] + page.get_seq_length() - start)
    layers = []
    for number, base in enumerate(sink.kept):
        moved = [moved_by(llm, page.kept[number], move, number) for page, move in zip(pages, moves, strict=False)]
        heads = zip(*(kept.heads() for kept in [base, *moved]), strict=True)
        layers.append(Kept.of([tuple(map(torch.cat, zip(*parts, strict=True))) for parts in heads]))  # type: ignore[misc]
    return CompactCache(layers, start + moves[-1] + gap)


def beside(llm: FrozenLM, sink: CompactCache, pages: Sequence[CompactCache], gap: int = 0) -> CompactCache:
    """One page for each row of a batch, each right after `sink`; what is read on top stands at the same place for all.

    Args:
        pages: as `without` leaves them.
        gap: positions that stay empty behind the longest page.
    """
    longest = max(page.get_seq_length() for page in pages)
    layers = []
    for number, base in enumerate(sink.kept):
        rows = [base, *(in_form(page.kept[number], base.keys.dtype) for page in pages)]
        heads = [padded(*parts) for parts in zip(*(kept.heads() for kept in rows), strict=True)]
        counts = tuple(head[0].shape[1] for head in heads)
        keys, values, bias, index = (torch.cat(p, axis) for p, axis in zip(zip(*heads, strict=True), AXES, strict=True))
        layers.append(Beside(keys, values, bias, index, counts))
    return CompactCache(layers, longest + gap)


def padded(base: Entries, *pages: Entries) -> Entries:
    """One head of a layer, for all rows of a batch: `base` before each of the pages."""
    rows = [[torch.cat(pair) for pair in zip(base, page, strict=True)] for page in pages]
    fills = (0.0, 0.0, float("-inf"), 0)
    keys, values, bias, index = (
        pad_sequence(list(part), batch_first=True, padding_value=fill)
        for part, fill in zip(zip(*rows, strict=True), fills, strict=True)
    )
    return keys, values, bias[:, None, None], index[:, None, None]


def moved_by(llm: FrozenLM, kept: Kept, move: int, layer: int) -> Kept:
    """A layer of a page, `move` positions further on, in the model's own precision."""
    kept = in_form(kept, llm.embeddings.dtype)
    keys = rotated(llm.model, kept.keys, move, layer) if move else kept.keys
    return replace(kept, keys=keys, index=kept.index + move)


def in_form(kept: Kept, form: torch.dtype) -> Kept:
    """A layer in another precision."""
    return replace(kept, keys=kept.keys.to(form), values=kept.values.to(form), bias=kept.bias.to(form))
