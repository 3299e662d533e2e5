"""A model over a compacted cache: with everything kept it is the plain model, whatever is read on top and however."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import DynamicCache

from vtc.llm.frozen import FrozenLM
from vtc.readers.kv.attention import NAME, Observation, attending
from vtc.readers.kv.cache import CompactCache, Kept
from vtc.readers.kv.compact import compacted
from vtc.readers.kv.rotation import rotated

DOCUMENT, OPENING = 40, 3


def draw(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, count).astype(np.int32)


def whole(lm: FrozenLM) -> CompactCache:
    """A document with nothing left out, read in three pages."""
    return compacted(lm, draw(OPENING), draw(DOCUMENT, 1), 1, page=15)


def plain(lm: FrozenLM) -> Any:
    with torch.inference_mode():
        ids = torch.from_numpy(np.concatenate([draw(OPENING), draw(DOCUMENT, 1)])).long()[None]
        return lm.model.base_model(input_ids=ids, use_cache=True, **{lm._cache_word: DynamicCache()})[lm._cache_word]


def test_with_everything_kept_the_logits_are_the_plain_model_s(lm: FrozenLM) -> None:
    more = torch.from_numpy(draw(9, 2)).long()[None]
    with torch.inference_mode():
        expected, _ = lm._forward(more, plain(lm), 9)
        found, _ = lm._forward(more, whole(lm), 9)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_one_token_at_a_time_is_the_same_as_at_once(lm: FrozenLM) -> None:
    more = torch.from_numpy(draw(6, 2)).long()[None]
    cache, once = whole(lm), whole(lm)
    with torch.inference_mode():
        expected, _ = lm._forward(more, once, 6)
        steps = [lm._forward(more[:, i : i + 1], cache, 1)[0] for i in range(6)]
    torch.testing.assert_close(torch.cat(steps), expected, atol=1e-4, rtol=1e-4)


def test_the_length_is_what_was_seen_and_the_question_comes_off_again(lm: FrozenLM) -> None:
    cache = compacted(lm, draw(OPENING), draw(DOCUMENT, 1), 4, page=15)
    assert cache.get_seq_length() == DOCUMENT + OPENING
    first = b"".join(lm.generate(draw(5, 3), 6, cache))
    assert cache.get_seq_length() == DOCUMENT + OPENING
    assert b"".join(lm.generate(draw(5, 3), 6, cache)) == first


def test_a_batch_with_left_padding_is_read_as_over_a_plain_cache(lm: FrozenLM) -> None:
    short, long = draw(4, 4), draw(7, 5)
    rows = np.stack([np.concatenate([np.full(3, 258, np.int32), short]), long])
    mask = torch.ones(2, DOCUMENT + OPENING + 7, dtype=torch.long)
    mask[0, DOCUMENT + OPENING : DOCUMENT + OPENING + 3] = 0
    # Positions go on from the document for both; padding takes none.
    places = torch.tensor([[0, 0, 0, 0, 1, 2, 3], [0, 1, 2, 3, 4, 5, 6]]) + DOCUMENT + OPENING
    batch = {"input_ids": torch.from_numpy(rows).long(), "attention_mask": mask, "position_ids": places}
    twice = plain(lm)
    twice.batch_repeat_interleave(2)  # of a compacted cache one copy serves all rows
    found = []
    for cache in (twice, whole(lm)):
        with torch.inference_mode(), attending(lm.model, cache):
            found.append(lm.model(**batch, use_cache=True, **{lm._cache_word: cache}).logits[:, -4:])
    torch.testing.assert_close(*found, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("how", [{"num_beams": 3}, {"do_sample": True, "num_return_sequences": 2}, {}])
def test_transformers_own_generation_runs_on_it(lm: FrozenLM, how: dict[str, Any]) -> None:
    """The prompt stands behind what the cache has seen: ids of the same length as before, of which the last are new."""
    ids = torch.from_numpy(np.concatenate([draw(OPENING), draw(DOCUMENT, 1), draw(5, 3)])).long()[None]
    twin = plain(lm)
    twin.batch_repeat_interleave(how.get("num_beams", how.get("num_return_sequences", 1)))
    found = []
    for cache in (twin, whole(lm)):
        torch.manual_seed(0)
        options = {"max_new_tokens": 6, "attention_mask": torch.ones_like(ids), lm._cache_word: cache, **how}
        if isinstance(cache, CompactCache):
            with cache.attending(lm.model):
                found.append(lm.model.generate(ids, **options))
        else:
            found.append(lm.model.generate(ids, **options))
    assert torch.equal(*found)


def test_the_model_is_as_it_was_after_the_block(lm: FrozenLM) -> None:
    before = (lm.model.config._attn_implementation, lm.fingerprint())
    with pytest.raises(KeyError), attending(lm.model, whole(lm), Observation()):
        assert lm.model.config._attn_implementation == NAME
        raise KeyError
    assert (lm.model.config._attn_implementation, lm.fingerprint()) == before
    assert not any(module._forward_pre_hooks for module in lm.model.modules())


def test_rotations_add_up(lm: FrozenLM) -> None:
    """A query read at position p and moved by s is the query read at p + s."""
    ids = draw(12, 6)
    for layer in range(2):
        found = []
        for pad in (0, 9):
            seen = Observation()
            with torch.inference_mode(), attending(lm.model, None, seen):
                places = torch.arange(12)[None] + pad
                lm.model(input_ids=torch.from_numpy(ids).long()[None], position_ids=places, use_cache=False)
            found.append(seen.queries[layer])
        moved = rotated(lm.model, found[0], 9, layer)
        torch.testing.assert_close(moved, found[1], atol=1e-4, rtol=1e-4)


def test_heads_come_apart_as_they_were_put_together() -> None:
    torch.manual_seed(0)
    heads = [(torch.randn(n, 8), torch.randn(n, 8), torch.randn(n), torch.arange(n)) for n in (3, 0, 5)]
    kept = Kept.of(heads)
    assert kept.counts == (3, 0, 5) and kept.scalars == 8 * (2 * 8 + 1)
    for found, expected in zip(kept.heads(), heads, strict=True):
        for part, other in zip(found, expected, strict=True):
            assert torch.equal(part, other)
    cache = CompactCache([kept, kept], seen=50)
    assert cache.entries == pytest.approx(2 * 8 * 17 / (2 * 8 * 6)) and cache.get_seq_length() == 50
    with pytest.raises(ValueError, match="can take off 0 tokens at most"):
        cache.crop(-1)
