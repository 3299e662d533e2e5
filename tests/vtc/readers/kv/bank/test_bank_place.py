"""Pages moved, joined and set beside one another are what the model itself would have read there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import DynamicCache

from vtc.llm.frozen import FrozenLM
from vtc.readers.kv.bank.likelihood import likelihood
from vtc.readers.kv.bank.place import behind, beside, without
from vtc.readers.kv.cache import CompactCache
from vtc.readers.kv.compact import Recipe, extended, opened

OPENING, SIZES = 3, (14, 9, 12)


def draw(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, count).astype(np.int32)


def read(lm: FrozenLM, ratio: float) -> tuple[CompactCache, list[CompactCache]]:
    """An opening, and three pages that were each read alone after it."""
    sink = opened(lm, draw(OPENING, 0))
    pages = [extended(lm, sink, draw(size, size), ratio, Recipe(sinks=1)) for size in SIZES]
    return sink, [without(page, OPENING) for page in pages]


def keys_at(lm: FrozenLM, ids: np.ndarray, places: torch.Tensor) -> torch.Tensor:
    """Keys of the first layer, [KV, n, d]: they hang on nothing but ids and positions."""
    with torch.inference_mode():
        batch: dict[str, Any] = {"input_ids": torch.from_numpy(ids).long()[None], "position_ids": places[None]}
        cache = lm.model.base_model(**batch, use_cache=True, **{lm._cache_word: DynamicCache()})[lm._cache_word]
    keys: torch.Tensor = cache.layers[0].keys[0]
    return keys


def test_a_moved_page_has_the_keys_of_its_new_place(lm: FrozenLM) -> None:
    sink, pages = read(lm, 1)
    order = (2, 0, 1)
    joined = behind(lm, sink, [pages[number] for number in order], gap=7)
    assert joined.get_seq_length() == OPENING + sum(SIZES) + 7
    ids = np.concatenate([draw(OPENING, 0), *(draw(SIZES[number], SIZES[number]) for number in order)])
    expected = keys_at(lm, ids, torch.arange(len(ids)))
    for head, (keys, _, bias, index) in enumerate(joined.kept[0].heads()):
        assert index.tolist() == list(range(len(ids))) and not bias.any()
        torch.testing.assert_close(keys, expected[head], atol=5e-3, rtol=5e-3)  # pages are in float16


def test_values_and_biases_move_as_they_are(lm: FrozenLM) -> None:
    sink, pages = read(lm, 3)
    joined = behind(lm, sink, pages[:2])
    for layer, both in enumerate(joined.kept):
        for head, parts in enumerate(both.heads()):
            first, second = (page.kept[layer].heads()[head] for page in pages[:2])
            count = len(second[0])
            for number in (1, 2):
                torch.testing.assert_close(parts[number][-count:], second[number].float(), atol=0, rtol=0)
            assert (parts[3][-count:] == second[3] + SIZES[0]).all()
            torch.testing.assert_close(parts[0][OPENING:-count], first[0].float(), atol=0, rtol=0)


def test_one_page_of_everything_is_the_plain_model(lm: FrozenLM) -> None:
    sink, pages = read(lm, 1)
    asked = draw(6, 9)
    with torch.inference_mode():
        whole = np.concatenate([draw(OPENING, 0), draw(SIZES[0], SIZES[0]), asked])
        expected, _ = lm._forward(torch.from_numpy(whole).long()[None], None, len(asked))
        found, _ = lm._forward(torch.from_numpy(asked).long()[None], behind(lm, sink, pages[:1]), len(asked))
    torch.testing.assert_close(found.softmax(-1), expected.softmax(-1), atol=2e-2, rtol=0)


@pytest.mark.parametrize("ratio", [1, 3])
def test_likelihood_of_pages_together_is_that_of_one_by_one(lm: FrozenLM, ratio: float) -> None:
    sink, pages = read(lm, ratio)
    asked = draw(8, 9)
    together = beside(lm, sink, pages, gap=2)
    found = likelihood(lm, together, len(pages), asked, 3)
    assert together.get_seq_length() == OPENING + max(SIZES) + 2
    for page, size, own in zip(pages, SIZES, found, strict=True):
        alone = behind(lm, sink, [page], gap=max(SIZES) - size + 2)
        expected = -lm.choices_nll(asked[:3], [asked[3:]], alone)[0].sum()
        torch.testing.assert_close(own, expected, atol=1e-3, rtol=1e-4)
    assert found.std() > 1e-3


def test_pages_hold_no_more_memory_than_their_entries(lm: FrozenLM) -> None:
    for page in read(lm, 3)[1]:
        for kept in page.kept:
            for part in (kept.keys, kept.values, kept.bias, kept.index):
                assert part.untyped_storage().nbytes() == part.numel() * part.element_size()
            assert kept.keys.dtype == kept.values.dtype == kept.bias.dtype == torch.float16
            assert int(kept.index.min()) >= OPENING
