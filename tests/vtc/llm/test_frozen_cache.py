"""Reading on top of a cache: the same numbers as reading everything at once, and the cache stays as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import Gemma3ForCausalLM, Gemma3TextConfig, MistralConfig, MistralForCausalLM

from vtc.llm.frozen import FrozenLM, untouched
from vtc.llm.vocabulary import Vocabulary
from vtc.records.errors import VtcError

SIZES: dict[str, Any] = dict(
    vocab_size=264,
    hidden_size=32,
    intermediate_size=48,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=600,
    initializer_range=0.5,
    sliding_window=16,
    tie_word_embeddings=False,
    eos_token_id=257,
)
KINDS = ("full", "sliding", "sliding and full")


@pytest.fixture(scope="module")
def models(tiny_folder: Path) -> dict[str, FrozenLM]:
    """Random models whose layers attend to everything, to the last 16 tokens, or take turns."""
    torch.manual_seed(1)
    words = Vocabulary.load(tiny_folder)
    turns = ["sliding_attention", "full_attention"]
    sliding = MistralForCausalLM(MistralConfig(num_hidden_layers=2, **SIZES))
    mixed = Gemma3ForCausalLM(Gemma3TextConfig(num_hidden_layers=2, head_dim=8, layer_types=turns, **SIZES))
    lms = [FrozenLM.load(tiny_folder, "cpu"), FrozenLM(sliding, words, "s"), FrozenLM(mixed, words, "m")]
    return dict(zip(KINDS, lms, strict=True))


def draw(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, count).astype(np.int32)


def state(cache: Any) -> tuple[int, list[bytes]]:
    """Everything that a cache knows: tokens seen, and the bytes of keys and values of each layer."""
    tensors = [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]
    return cache.get_seq_length(), [tensor.contiguous().numpy().tobytes() for tensor in tensors]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [5, 15, 16, 100])
def test_what_is_read_on_top_is_taken_off_again(models: dict[str, FrozenLM], kind: str, count: int) -> None:
    llm = models[kind]
    cache, more = llm.prefill(draw(count)), draw(30, 1)
    before = state(cache)
    alone = [losses.tolist() for losses in llm.choices_nll(more, [more[:4]], cache)]
    with untouched(cache):
        llm._forward(torch.from_numpy(more)[None].long(), cache, 1)
        assert cache.get_seq_length() == count + 30 and state(cache) != before
    assert state(cache) == before
    with pytest.raises(KeyError), untouched(cache):
        llm._forward(torch.from_numpy(more)[None].long(), cache, 1)
        raise KeyError
    assert state(cache) == before
    assert [losses.tolist() for losses in llm.choices_nll(more, [more[:4]], cache)] == alone


def test_nothing_is_undone_where_there_is_no_cache() -> None:
    with untouched(None):
        pass


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("held", "asked"), [(0, 1), (0, 40), (3, 1), (40, 7)])
def test_choices_are_scored_like_the_text_that_they_end(
    models: dict[str, FrozenLM], kind: str, held: int, asked: int
) -> None:
    llm, ids = models[kind], draw(held + asked)
    choices = [draw(size, size) for size in (1, 2, 9, 1)]
    cache = llm.prefill(ids[:held]) if held else None
    before = state(cache) if cache else None
    found = llm.choices_nll(ids[held:], choices, cache)
    assert cache is None or state(cache) == before
    for choice, losses in zip(choices, found, strict=True):
        expected = llm.nll(np.concatenate([ids, choice]), len(ids))
        assert losses.dtype == torch.float32 and losses.shape == (len(choice),)
        torch.testing.assert_close(losses, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("held", [0, 20])
def test_the_greedy_choice_is_what_is_generated(models: dict[str, FrozenLM], held: int) -> None:
    llm, ids = models["full"], draw(held + 5)
    words = llm.vocabulary.token_bytes
    answer = np.array([words.index(token) for token in llm.generate(ids, 6)])
    cache = llm.prefill(ids[:held]) if held else None
    wrong = [np.where(np.arange(6) == place, (answer + 1) % 256, answer) for place in range(6)]
    scored = llm.score_choices(ids[held:], [answer, answer[:1], *wrong, wrong[5][:5]], cache)
    assert [greedy for _, greedy in scored] == [True, True, *[False] * 6, True]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("held", [1, 15, 60])
def test_generation_on_a_cache_is_that_from_all_ids(models: dict[str, FrozenLM], kind: str, held: int) -> None:
    llm, ids = models[kind], draw(held + 5, held)
    cache = llm.prefill(ids[:held])
    before, expected = state(cache), list(llm.generate(ids, 25))
    assert len(expected) > 3
    for _ in range(2):
        assert list(llm.generate(ids[held:], 25, cache)) == expected
        assert state(cache) == before
    stream = llm.generate(ids[held:], 25, cache)
    next(stream)
    assert state(cache) != before
    stream.close()
    assert state(cache) == before


def test_vectors_are_read_like_the_ids_whose_embeddings_they_are(models: dict[str, FrozenLM]) -> None:
    llm, ids = models["full"], draw(50)
    cache = llm.prefill_vectors(llm.embeddings[torch.from_numpy(ids).long()])
    assert state(cache) == state(llm.prefill(ids))


def test_impossible_lengths_count_what_the_cache_holds(
    models: dict[str, FrozenLM], monkeypatch: pytest.MonkeyPatch
) -> None:
    llm = models["full"]
    cache = llm.prefill(draw(40))
    monkeypatch.setattr(llm, "window", 50)
    assert len(llm.choices_nll(draw(7), [draw(3), draw(1)], cache)[0]) == 3
    with pytest.raises(VtcError, match=r"51 tokens exceed the window of tiny \(50\)"):
        llm.choices_nll(draw(7), [draw(4), draw(1)], cache)
    assert len(list(llm.generate(draw(8), 9, cache))) <= 2
    with pytest.raises(VtcError, match=r"51 tokens exceed the window of tiny \(50\)"):
        next(llm.generate(draw(11), 9, cache))
    with pytest.raises(VtcError, match=r"51 tokens exceed the window of tiny \(50\)"):
        llm.prefill_vectors(torch.zeros(51, 32))
    for prompt, choices in ((draw(0), [draw(1)]), (draw(1), [draw(2), draw(0)])):
        with pytest.raises(VtcError, match="nothing to read"):
            llm.choices_nll(prompt, choices, cache)
    assert cache.get_seq_length() == 40
