"""The steps of the recipe against formulas written out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vtc import api
from vtc.cli import main
from vtc.llm.frozen import FrozenLM
from vtc.readers.base import Page
from vtc.readers.kv.budget import even, floor, pooled
from vtc.readers.kv.compact import STEPS, Recipe, compacted, extended, opened
from vtc.readers.kv.fit import ridge
from vtc.readers.kv.merge import mass, nearest
from vtc.readers.kv.observe import observe
from vtc.readers.kv.reader import KvReader
from vtc.readers.kv.score import USUAL, loss, weigh
from vtc.readers.kv.sensitivity import sensitivity
from vtc.records.errors import UsageError


def draw(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, count).astype(np.int32)


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    layers=st.integers(1, 3),
    heads=st.integers(1, 3),
    n=st.integers(5, 40),
    part=st.floats(0.02, 1.0),
    share=st.floats(0, 1),
)
def test_the_budget_is_kept_to_the_entry(seed: int, layers: int, heads: int, n: int, part: float, share: float) -> None:
    scores = torch.rand(layers, heads, n, generator=torch.Generator().manual_seed(seed))
    total = int(part * scores.numel())
    always = floor(scores, total, share, 2)
    mask = pooled(scores, total, always)
    assert int(mask.sum()) == max(total, int(always.sum())) and bool((mask | ~always).all())
    assert bool(always[..., :2].all())
    left, taken = scores[~mask], scores[mask & ~always]
    assert not len(left) or not len(taken) or float(taken.min()) >= float(left.max())
    alike = even(scores, total, torch.zeros_like(always)).sum(-1)
    assert set(alike.flatten().tolist()) == {max(1, total // (layers * heads))}


def test_every_dropped_entry_joins_the_nearest_direction() -> None:
    torch.manual_seed(0)
    keys, values, weight = torch.randn(20, 6), torch.randn(20, 4), torch.rand(20)
    kept = torch.rand(20) < 0.4
    found, bias = nearest(keys, values, weight, kept, 50.0)
    places = kept.nonzero()[:, 0].tolist()
    clusters: dict[int, list[int]] = {i: [i] for i in places}
    for j in (~kept).nonzero()[:, 0].tolist():
        clusters[max(places, key=lambda i: torch.cosine_similarity(keys[i], keys[j], dim=0))].append(j)
    for row, i in enumerate(places):
        members = clusters[i]
        total = weight[members].sum()
        mean = (values[members] * weight[members, None]).sum(0) / total
        torch.testing.assert_close(found[row], mean)
        torch.testing.assert_close(bias[row], (total / weight[i]).log())
    assert float(nearest(keys, values, weight, kept, 0.5)[1].max()) <= 0.5


def test_one_bias_makes_up_for_what_is_gone() -> None:
    weight, kept = torch.tensor([0.1, 0.2, 0.3]), torch.tensor([True, False, True])
    values, bias = mass(torch.zeros(3, 2), torch.arange(6.0).reshape(3, 2), weight, kept, 9.0)
    assert values.tolist() == [[0, 1], [4, 5]] and bias.tolist() == pytest.approx([np.log(0.6 / 0.4)] * 2)


def test_the_fit_is_least_squares_with_one_pseudo_row_an_entry() -> None:
    torch.manual_seed(1)
    weights, target, values = torch.rand(30, 5), torch.randn(30, 3), torch.randn(5, 3)
    rows = torch.cat([weights, 2.0**0.5 * torch.eye(5)])
    expected = torch.linalg.lstsq(rows, torch.cat([target, 2.0**0.5 * values])).solution
    torch.testing.assert_close(ridge(weights, target, values, 2.0), expected, atol=1e-4, rtol=1e-4)


def test_weights_and_losses_are_those_of_the_model_s_own_parts(lm: FrozenLM) -> None:
    """Every query by itself, over what was kept of a first page and all of a second."""
    cache = extended(lm, opened(lm, draw(3)), draw(30, 2), 3, Recipe(sinks=1))
    layers = observe(lm, cache, draw(17, 1))
    assert cache.get_seq_length() == 33 and any(bool((kept.bias != 0).any()) for kept in cache.kept)
    for kept, layer, roots in zip(cache.kept, layers, sensitivity(lm), strict=True):
        found = weigh(layer)
        group = layer.queries.shape[2]
        for head, (keys, values, bias, index) in enumerate(kept.heads()):
            stood = len(keys)
            keys, values = torch.cat([keys, layer.keys[head]]), torch.cat([values, layer.values[head]])
            bias = torch.cat([bias, torch.zeros(17)])
            index = torch.cat([index, torch.arange(33, 50)])
            own = torch.zeros(2, group, 17, len(keys))
            for kind, member, i in np.ndindex(2, group, 17):
                near = index > layer.places[kind, 0, i] - (layer.window or 10**6)
                if bool(near.any()):
                    scores = keys @ layer.queries[head, kind, member, i] * layer.scaling + bias
                    own[kind, member, i, near] = scores[near].softmax(0)
            torch.testing.assert_close(found.output[head], own @ values, atol=1e-5, rtol=1e-4)
            own = own[..., stood:]
            torch.testing.assert_close(found.mean[head], own.mean((0, 1, 2)), atol=1e-5, rtol=1e-4)
            torch.testing.assert_close(found.peak[head], own.amax((0, 1, 2)), atol=1e-5, rtol=1e-4)
            torch.testing.assert_close(found.energy[head], (own**2).mean(2), atol=1e-5, rtol=1e-4)
            fisher = torch.stack([part @ part.T for part in roots[head * group : (head + 1) * group]])
            lost = torch.einsum("nd,gde,ne->gn", layer.values[head], fisher, layer.values[head])
            torch.testing.assert_close(layer.loss[head], lost, atol=1e-4, rtol=1e-3)
            score = (USUAL * found.energy[head, 0] + found.energy[head, 1]) * lost
            torch.testing.assert_close(loss(found, layer.loss)[head], score.sum(0).sqrt(), atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("ratio", [2, 4, 8])
def test_the_stored_scalars_are_what_the_ratio_says(lm: FrozenLM, ratio: int) -> None:
    cache = compacted(lm, draw(3), draw(160, 1), ratio, Recipe(sinks=1, share=0.0), page=80)
    heads = sum(len(kept.counts) for kept in cache.kept)
    own = sum(kept.scalars for kept in cache.kept) - heads * 3 * (2 * cache.kept[0].keys.shape[1] + 1)
    full = heads * 160 * 2 * cache.kept[0].keys.shape[1]
    assert full / own == pytest.approx(ratio, rel=0.03) and full / own >= ratio


@pytest.mark.parametrize("step", sorted(STEPS))
def test_steps_are_named_and_a_wrong_name_is_met_with_the_nearest(step: str) -> None:
    for name in STEPS[step]:
        assert getattr(Recipe(**{step: name}), step) == name
    with pytest.raises(UsageError, match="unknown"):
        Recipe(**{step: "nearly"})


def test_the_reader_reads_once_and_leaves_the_weights(lm: FrozenLM) -> None:
    before = lm.fingerprint()
    reader = KvReader(lm, ratio=4)
    text = bytes(range(32, 112)) * 2
    ids = lm.vocabulary.encode(text.decode())
    reader.prepare([Page(text, ids)], {"text_bytes": len(text)})
    first, second = (reader.ask("Where?", max_new_tokens=8) for _ in range(2))
    assert first["answer"] == second["answer"] and first["position_ratio"] == pytest.approx(4, rel=0.1)
    assert lm.fingerprint() == before
    options: list[dict[str, Any]] = [{"ratio": 0.5}, {"rows": 0}, {"merge": "nearby"}]
    for wrong in options:
        with pytest.raises(UsageError):
            KvReader(lm, **wrong)


def test_the_verb_asks_through_it(
    lm: FrozenLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(api, "load_llm", lambda spec: lm)
    path = tmp_path / "a.txt"
    path.write_text("The wolf was there. " * 8)
    arguments = ["ask", str(path), "Who?", "--reader", "kv", "--max-tokens", "4", "--json"]
    assert main([*arguments, "--ratio", "4"]) == 0
    record = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert record["reader"] == "kv" and record["position_ratio"] == pytest.approx(4, rel=0.1)
    assert main([*arguments, "--ratio", "0.5"]) == 2
    assert "ratio=0.5: must be at least 1" in capsys.readouterr().err
