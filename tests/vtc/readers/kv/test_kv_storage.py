"""Compacted caches as bytes: any ragged caches come back, at the precision that the form promises."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

from vtc.readers.kv.cache import CompactCache, Kept
from vtc.readers.kv.storage import pack, unpack
from vtc.records.errors import UsageError, VtcError


def stand_in(layers: int, dtype: torch.dtype = torch.float32) -> Any:
    """What unpacking asks of a model."""
    config = SimpleNamespace(num_hidden_layers=layers)
    return SimpleNamespace(
        name="other",
        device=torch.device("cpu"),
        embeddings=torch.zeros(1, dtype=dtype),
        model=SimpleNamespace(config=SimpleNamespace(get_text_config=lambda: config)),
    )


@st.composite
def caches(draw: st.DrawFn) -> list[CompactCache]:
    """Caches of one model: heads may be empty, biases one a head or one an entry, positions in any order."""
    layers, count = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    shapes = [(draw(st.integers(1, 3)), 2 * draw(st.integers(1, 4))) for _ in range(layers)]  # KV heads, d
    random = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    found = []
    for _ in range(count):
        kept = []
        for heads, d in shapes:
            parts = []
            for _ in range(heads):
                n = draw(st.integers(0, 9))
                one, top = draw(st.booleans()), draw(st.sampled_from([50, 70_000, 2**31 - 1]))
                places = torch.randint(top, (n,), generator=random)
                places = places.sort()[0] if draw(st.booleans()) else places
                bias = torch.rand(1 if one else n, generator=random).expand(n)
                keys, values = (torch.randn(n, d, generator=random) * scale for scale in (20, 0.01))
                parts.append((keys, values, bias, places))
            kept.append(Kept.of(parts))
        found.append(CompactCache(kept, draw(st.integers(0, 300_000))))
    return found


def tensors(found: list[CompactCache], name: str) -> list[torch.Tensor]:
    return [getattr(kept, name) for cache in found for kept in cache.kept]


@settings(max_examples=60, deadline=None)
@given(written=caches(), form=st.sampled_from(["float32", "float16", "int8"]))
def test_ragged_caches_come_back(written: list[CompactCache], form: str) -> None:
    layers = len(written[0].kept)
    read = unpack(pack(written, form), stand_in(layers))
    assert [cache.get_seq_length() for cache in read] == [cache.get_seq_length() for cache in written]
    assert [[kept.counts for kept in cache.kept] for cache in read] == [
        [kept.counts for kept in cache.kept] for cache in written
    ]
    for name in ("index", "bias"):
        for found, expected in zip(tensors(read, name), tensors(written, name), strict=True):
            assert torch.equal(found, expected) and found.dtype == expected.dtype
    for name in ("keys", "values"):
        for found, expected in zip(tensors(read, name), tensors(written, name), strict=True):
            if form == "float32":
                assert torch.equal(found, expected)
            elif form == "float16":
                assert torch.equal(found, expected.half().float())
            elif len(expected):
                # Half a step of each vector's largest number / 127, and what float16 rounds the step by.
                step = expected.abs().amax(1, keepdim=True) / 127
                assert bool(((found - expected).abs() <= step * 0.5 + 127 * step * 2**-11 + 127 * 2**-24).all())


def one(keys: torch.Tensor, places: list[int] | None = None) -> CompactCache:
    n = len(keys)
    index = torch.arange(n) if places is None else torch.tensor(places)
    return CompactCache([Kept.of([(keys, keys, torch.zeros(n), index)])], n)


def test_numbers_cost_what_the_form_says_and_biases_and_positions_next_to_nothing() -> None:
    caches = [one(torch.randn(1000, 64)) for _ in range(3)]
    for form, scalar in (("float32", 4), ("float16", 2), ("int8", 1)):
        content = 3 * 1000 * (2 * 64 * scalar + 2)  # positions less the one before take 2 bytes
        scales = 3 * 1000 * 2 * 2 if form == "int8" else 0
        assert content + scales < len(pack(caches, form)) < content + scales + 1000
    assert "index.0" in load(pack([one(torch.randn(2, 4), [0, 70_000])]))
    assert load(pack([one(torch.randn(2, 4), [0, 70_000])]))["index.0"].dtype == np.uint32


def test_they_come_back_in_the_model_s_own_precision() -> None:
    written = one(torch.randn(5, 8))
    (read,) = unpack(pack([written], "float32"), stand_in(1, torch.bfloat16))
    kept = read.kept[0]
    assert (kept.keys.dtype, kept.values.dtype, kept.bias.dtype) == (torch.bfloat16,) * 3
    assert kept.index.dtype == torch.int32 and torch.equal(kept.keys, written.kept[0].keys.bfloat16())


def test_what_is_read_on_top_is_left_out() -> None:
    cache = one(torch.randn(5, 8))
    bare = pack([cache])
    cache.layers[0].update(torch.randn(1, 1, 3, 8), torch.randn(1, 1, 3, 8))
    assert cache.get_seq_length() == 8 and pack([cache]) == bare


@pytest.mark.parametrize(
    ("form", "number", "message"),
    [
        ("float64", 1.0, "--latents float64: choose float32, float16 or int8"),
        ("float16", 70_000.0, "--latents float16: .* beyond its range; use --latents float32"),
        ("int8", 9e6, "--latents int8: .* beyond its range"),
        ("float16", float("nan"), "beyond its range"),
    ],
)
def test_forms_that_can_not_hold_it_are_refused(form: str, number: float, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        pack([one(torch.full((2, 4), number))], form)


def test_other_bytes_and_other_models_are_refused_in_one_line() -> None:
    blob = pack([one(torch.randn(5, 8))])
    with pytest.raises(VtcError, match="a model with 1 layers, and other has 2; name the model"):
        unpack(blob, stand_in(2))
    changed = load(blob)
    for name in ("head", "counts.0", "runs.0", "keys.0"):
        with pytest.raises(VtcError, match="not latents of reader 'kv' .*; compress the text again"):
            unpack(save({key: value for key, value in changed.items() if key != name}), stand_in(1))
    newer = np.frombuffer(changed["head"].tobytes().replace(b'"version": 1', b'"version": 2'), np.uint8)
    with pytest.raises(VtcError, match="format 2 and this program reads 1; upgrade"):
        unpack(save({**changed, "head": newer}), stand_in(1))
    with pytest.raises(VtcError, match="not latents"):
        unpack(b"nothing of the kind", stand_in(1))
