"""Scores told from the first pass alone: what they are made of, where they come from, whom they serve."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from vtc import api
from vtc.cli import main
from vtc.llm.frozen import FrozenLM
from vtc.readers.base import Page
from vtc.readers.kv import surrogate as part
from vtc.readers.kv.compact import Recipe, extended, opened, reduced, watched
from vtc.readers.kv.observe import observe
from vtc.readers.kv.reader import KvReader
from vtc.readers.kv.score import USUAL, loss, weigh
from vtc.readers.kv.sensitivity import attentions
from vtc.readers.kv.surrogate import TINY, Surrogate, features, inputs, load, lost, save, scorer_path, surrogate
from vtc.records.errors import UsageError, VtcError

TEXT = "The wolf was there. " * 8


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder of artefacts, and nothing known of any model."""
    monkeypatch.setenv("VTC_ARTIFACTS", str(tmp_path))
    part._known.clear()
    yield tmp_path
    part._known.clear()


def draw(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, count).astype(np.int32)


def some(lm: FrozenLM, seed: int = 0) -> Surrogate:
    """Maps at random, for the sizes of a model."""
    config = lm.model.config
    shape = (config.num_hidden_layers, config.num_key_value_heads, config.hidden_size + config.num_key_value_heads + 1)
    return Surrogate(torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 0.1)


def test_one_pass_shows_what_the_first_of_two_does(lm: FrozenLM) -> None:
    """Also on top of what was kept of a page before it; the cache stays as it was."""
    cache = extended(lm, opened(lm, draw(3)), draw(30, 2), 3, Recipe(sinks=1))
    both, one = (observe(lm, cache, draw(17, 1), repeat=repeat) for repeat in (True, False))
    assert cache.get_seq_length() == 33
    for two, first in zip(both, one, strict=True):
        assert first.queries.shape[1] == 1 and first.places.shape[0] == 1 and first.window == two.window
        torch.testing.assert_close(first.queries[:, 0], two.queries[:, 0])
        weights, more = weigh(first), weigh(two)
        torch.testing.assert_close(weights.energy[:, 0], more.energy[:, 0])
        torch.testing.assert_close(weights.output[:, 0], more.output[:, 0])


def test_a_score_is_the_first_pass_as_seen_and_a_linear_map_for_the_second(lm: FrozenLM, place: Path) -> None:
    found = some(lm)
    save(scorer_path(lm.name, made=True), found, lm, {})
    cache = opened(lm, draw(3))
    seen = watched(lm, cache, draw(17, 1), fast=True)
    full = watched(lm, cache, draw(17, 1))
    assert seen.scores is not None and full.scores is None and seen.length == full.length == 20
    read: list[torch.Tensor] = []
    names = [f"layers.{number}.input_layernorm" for number in range(len(seen.layers))]
    hooks = [
        lm.model.base_model.get_submodule(name).register_forward_hook(lambda *given: read.append(given[2][0]))
        for name in names
    ]
    lm.prefill(np.concatenate([draw(3), draw(17, 1)]))
    for hook in hooks:
        hook.remove()
    for layer, (shown, weights, hidden) in enumerate(zip(full.layers, full.weights, read, strict=True)):
        first = (weights.energy[:, 0] * shown.loss).sum(1)  # [KV, n]
        for head, token in np.ndindex(*first.shape):
            told = torch.cat([hidden[3 + token], (first[:, token] + TINY).log(), torch.ones(1)])
            second = (told @ found.weight[layer, head]).exp()
            expected = (USUAL * first[head, token] + second).sqrt()
            torch.testing.assert_close(seen.scores[layer, head, token], expected, rtol=2e-2, atol=1e-5)


def test_what_the_second_pass_says_makes_the_whole_score(lm: FrozenLM) -> None:
    """With it in the place of its prediction a score is that of the recipe."""
    seen = watched(lm, opened(lm, draw(3)), draw(17, 1))
    whole = (USUAL * lost(seen.layers, seen.weights, 0) + lost(seen.layers, seen.weights, 1)).sqrt()
    expected = torch.stack([loss(*pair) for pair in zip(seen.weights, (x.loss for x in seen.layers), strict=True)])
    torch.testing.assert_close(whole, expected)


def test_entries_are_kept_by_what_was_told(lm: FrozenLM) -> None:
    """A map that finds one head alone worth keeping gets nearly all of the budget for it."""
    weight = torch.zeros_like(some(lm).weight)
    weight[..., -1] = -80.0
    weight[1, 1, -1] = 60.0
    part._known[lm] = Surrogate(weight)
    recipe = Recipe(sinks=1, share=0.1, fast=True)
    cache = extended(lm, opened(lm, draw(3)), draw(40, 1), 4, recipe)
    counts = np.array([kept.counts for kept in cache.kept]) - 3
    assert counts[1, 1] == counts.max() > counts.sum() / 2
    assert cache.get_seq_length() == 43


def test_everything_kept_is_the_plain_model(lm: FrozenLM) -> None:
    part._known[lm] = some(lm)
    cache = extended(lm, opened(lm, draw(3)), draw(30, 1), 1, Recipe(fast=True))
    plain = lm.nll(np.concatenate([draw(3), draw(30, 1), draw(9, 2)]), 34)
    nll = lm.choices_nll(draw(9, 2)[:1], [draw(9, 2)[1:]], cache)[0]
    torch.testing.assert_close(nll, plain, atol=1e-4, rtol=1e-4)


def test_inputs_are_of_the_first_pass_and_hooks_come_off(lm: FrozenLM) -> None:
    with inputs(lm.model) as found:
        watched(lm, opened(lm, draw(3)), draw(17, 1))
        assert [tuple(item.shape) for item in found] == [(3, 32), (3, 32)]  # the opening was read first
    assert not any(module._forward_pre_hooks for module in attentions(lm.model))
    assert features(found[0], torch.ones(2, 3)).shape == (3, 35)


def test_a_ratio_is_kept_and_two_ways_of_reading_are_not_mixed_up(lm: FrozenLM) -> None:
    save(scorer_path(lm.name, made=True), some(lm), lm, {})
    before = lm.fingerprint()
    answers = {}
    for fast in (False, True, False):
        reader = KvReader(lm, ratio=4, fast=fast)
        reader.prepare([Page(TEXT.encode(), lm.vocabulary.encode(TEXT))], {"text_bytes": len(TEXT)})
        cache = reader.memory(reader.around("")[0]).cache
        assert reader.ask("Who?", max_new_tokens=2)["position_ratio"] == pytest.approx(4, rel=0.1)
        index = torch.cat([kept.index for kept in cache.kept])
        assert torch.equal(answers.setdefault(fast, index), index)
    assert not torch.equal(answers[False], answers[True]) and lm.fingerprint() == before


def test_another_model_damage_and_absence_are_refused(lm: FrozenLM, place: Path) -> None:
    path = scorer_path(lm.name, made=True)
    with pytest.raises(VtcError, match=rf"no scorer for {lm.name}.*train.scorer"):
        KvReader(lm, fast=True).admit(10)
    save(path, some(lm), lm, {})
    assert scorer_path(lm.name) == path == place / f"scorer-{lm.name}.safetensors"
    torch.testing.assert_close(surrogate(lm).weight, some(lm).weight, atol=1e-3, rtol=1e-3)  # float16
    parameter = lm.model.base_model.get_submodule("layers")[0].self_attn.q_proj.weight
    kept, identity = parameter.clone(), lm.identity
    with torch.no_grad():
        parameter.mul_(1.5)
    del lm.identity
    with pytest.raises(VtcError, match=r"was trained on .* and this model is .*train.scorer"):
        load(path, lm)
    with torch.no_grad():
        parameter.copy_(kept)
    del lm.identity
    assert lm.identity == identity
    blob = bytearray(path.read_bytes())
    blob[-1] ^= 1
    path.write_bytes(blob)
    with pytest.raises(VtcError, match="does not match its hash"):
        load(path, lm)
    path.write_bytes(blob[:-5])
    with pytest.raises(VtcError, match="damaged"):
        load(path, lm)


def test_it_predicts_one_score_only(lm: FrozenLM) -> None:
    with pytest.raises(UsageError, match="predicts the score 'loss', not 'peak'"):
        KvReader(lm, fast=True, score="peak")


def test_the_verbs_know_it(
    lm: FrozenLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(api, "load_llm", lambda spec: lm)
    path = tmp_path / "a.txt"
    path.write_text(TEXT)
    arguments = ["ask", str(path), "Who?", "--reader", "kv", "--fast", "--ratio", "4", "--max-tokens", "4", "--json"]
    assert main(arguments) == 1
    assert "no scorer for" in capsys.readouterr().err
    save(scorer_path(lm.name, made=True), some(lm), lm, {})
    assert main(arguments) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert record["position_ratio"] == pytest.approx(4, rel=0.1)
    assert main(["compress", str(path), "--fast"]) == 2
    assert "--fast is about a reader's latents" in capsys.readouterr().err


def test_the_one_that_ships_is_for_the_default_model_and_better_than_none(llm: FrozenLM) -> None:
    """On a text that vtc brings for something else, its scores are nearer to those of two passes in rank."""
    text = (Path(api.__file__).parent / "data" / "calibration.txt").read_text(encoding="utf-8")
    ids = llm.vocabulary.encode(text)[:200]
    start = opened(llm, np.array([llm.start], np.int32))
    told, full = watched(llm, start, ids, fast=True), watched(llm, start, ids)
    first, second = (lost(full.layers, full.weights, kind) for kind in (0, 1))
    assert told.scores is not None
    ranks = [scores.flatten().argsort().argsort().double() for scores in (told.scores, first, USUAL * first + second)]
    close = torch.corrcoef(torch.stack(ranks))[2]
    assert float(close[0]) > 0.95 and float(close[0]) > float(close[1])
    assert scorer_path(llm.name).stat().st_size < 1_500_000
    assert reduced(told, 8, Recipe(fast=True)).entries < 1 + 200 / 8 + 1
