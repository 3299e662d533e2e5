"""The hard codec: whatever the ids, what it verified comes back, and what does not come back is never called exact."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vtc.codecs import hard
from vtc.codecs.base import CodedPage, page_checksum
from vtc.codecs.hard import POSITIONS, HardCodec
from vtc.codecs.side import LITERAL, Plan, balanced
from vtc.records.errors import UsageError, VtcError

CASES: list[dict[str, Any]] = [
    {"width": 64, "storage": "float32", "alphabet": "vocabulary", "prior": "none", "density": 8},
    {"width": 256, "storage": "float16", "alphabet": "page", "prior": "histogram", "density": 120},
    {"width": 96, "storage": "int8", "alphabet": "page", "prior": "none", "density": 16},
    {"width": 320, "storage": "int6", "alphabet": "vocabulary", "prior": "none", "density": 40},
    {"width": 256, "storage": "int4", "alphabet": "page", "prior": "auto", "density": 40},
    {"width": 64, "storage": "int3", "alphabet": "vocabulary", "prior": "auto", "density": 5},
    {"width": 4096, "storage": "float16", "alphabet": "vocabulary", "prior": "none", "density": 300},
]
NAMES = [f"{case['storage']}-{case['width']}-{case['alphabet']}" for case in CASES]
SYMBOLS = 500


@st.composite
def pages(draw: st.DrawFn) -> np.ndarray:
    """1 to 300 ids: random, all equal, alternating, rising runs, or all distinct."""
    length = draw(st.integers(1, 300))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    one, other = random.integers(0, SYMBOLS, 2)
    kinds = {
        "random": lambda: random.integers(0, SYMBOLS, length),
        "equal": lambda: np.full(length, one),
        "alternating": lambda: np.where(np.arange(length) % 2, one, other),
        "rising": lambda: (np.arange(length) // 3 + one) % SYMBOLS,
        "distinct": lambda: random.permutation(SYMBOLS)[:length],
    }
    return kinds[draw(st.sampled_from(sorted(kinds)))]().astype(np.int32)


def latents_of(coded: CodedPage) -> int:
    """Tiles of a page's plan that are no literals."""
    return int((Plan.unpack(coded.side, coded.symbols, SYMBOLS).priors != LITERAL).sum())


def changed(coded: CodedPage, **parts: Any) -> CodedPage:
    return CodedPage(**{**{name: getattr(coded, name) for name in CodedPage.__dataclass_fields__}, **parts})


QUICK = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("case", CASES, ids=NAMES)
@QUICK
@given(ids=pages())
def test_any_ids_come_back(small_table: Any, case: dict[str, Any], ids: np.ndarray) -> None:
    codec = HardCodec(small_table, **case)
    (coded,) = codec.encode([ids])
    assert (coded.symbols, coded.checksum) == (len(ids), page_checksum(ids))
    assert coded.latents.shape == (latents_of(coded), codec.latent_bytes) and coded.latents.dtype == np.uint8
    again = HardCodec(small_table, **json.loads(json.dumps(codec.config())))
    assert again.config() == codec.config()
    (decoded,) = again.decode([coded])
    assert decoded.exact and decoded.ids.tolist() == ids.tolist()
    assert (decoded.ids.dtype, decoded.confidence.dtype) == (np.int32, np.float32)
    assert decoded.confidence.min() > 0.5 and decoded.confidence.max() <= 1


@QUICK
@given(ids=pages())
def test_any_ids_come_back_through_the_pruned_search(
    small_table: Any, monkeypatch: pytest.MonkeyPatch, ids: np.ndarray
) -> None:
    monkeypatch.setattr(hard, "DENSE", 100)
    codec = HardCodec(small_table, width=320, density=40, alphabet="vocabulary")
    (decoded,) = codec.decode(codec.encode([ids]))
    assert decoded.exact and decoded.ids.tolist() == ids.tolist()


@QUICK
@given(ids=pages(), density=st.integers(1, 60), data=st.data())
def test_never_silently_wrong(small_table: Any, ids: np.ndarray, density: int, data: st.DataObject) -> None:
    """Neither unverified pages of any density, nor damaged latents, nor damaged side information."""
    codec = HardCodec(small_table, width=192, density=density, storage="int6", verify=False)
    (coded,) = codec.encode([ids])
    latents, side = coded.latents.copy(), bytearray(coded.side)
    for part in (latents.reshape(-1), side):
        where = data.draw(st.integers(0, len(part) - 1))
        part[where] ^= data.draw(st.integers(1, 255))
    for page in (coded, changed(coded, latents=latents), changed(coded, side=bytes(side))):
        (decoded,) = codec.decode([page])
        assert len(decoded.ids) == len(decoded.confidence) == len(ids)
        assert decoded.exact == (decoded.ids.tolist() == ids.tolist())


def test_damage_of_every_byte_is_repaired_or_found(small_table: Any) -> None:
    ids = np.random.default_rng(0).integers(0, SYMBOLS, 40)
    codec = HardCodec(small_table, width=64, density=5, alphabet="vocabulary", storage="int8")
    (coded,) = codec.encode([ids])
    outcome = []
    for place in range(0, coded.latents.size, 17):
        latents = coded.latents.copy()
        latents.reshape(-1)[place] ^= 0x80
        (decoded,) = codec.decode([changed(coded, latents=latents)])
        assert decoded.exact == (decoded.ids.tolist() == ids.tolist())
        outcome.append((decoded.ids != ids).sum())
    assert np.mean(outcome) < 5  # damage stays in its tile


def test_a_foreign_page_is_a_guess(small_table: Any) -> None:
    codec = HardCodec(small_table, width=64, density=5)
    random = np.random.default_rng(0)
    (coded,) = codec.encode([random.integers(0, SYMBOLS, 40)])
    noise = random.integers(0, 256, (8, codec.latent_bytes), dtype=np.uint8)
    none = np.zeros(0, np.int64)
    long = Plan(np.array([POSITIONS + 1]), np.array([0]), 0, None, None, none).pack()
    uncounted = Plan(balanced(40, 8), np.full(8, 1), 0, None, None, none).pack()
    cases = [
        changed(coded, latents=noise),
        changed(coded, latents=coded.latents[:3]),
        changed(coded, latents=np.concatenate([coded.latents] * 2)[:13]),
        changed(coded, latents=np.zeros_like(coded.latents)),
        changed(coded, side=b""),
        changed(coded, side=uncounted),
        changed(coded, side=long, symbols=POSITIONS + 1),
        changed(coded, checksum=coded.checksum ^ 1),
    ]
    found = codec.decode(cases)
    assert [page.exact for page in found] == [False, False, True, False, False, False, False, False]
    for page, case in zip(found, cases, strict=True):
        assert len(page.ids) == case.symbols and page.ids.min() >= 0 and page.ids.max() < SYMBOLS


def test_pages_do_not_depend_on_their_neighbours(small_table: Any) -> None:
    random = np.random.default_rng(1)
    several = [random.integers(0, SYMBOLS, length) for length in (100, 1, 37)]
    codec = HardCodec(small_table, width=256, density=30)
    alone = [codec.encode([ids])[0] for ids in several]
    for one, other in zip(codec.encode(several), alone, strict=True):
        np.testing.assert_array_equal(one.latents, other.latents)
        assert (one.side, one.checksum) == (other.side, other.checksum)


def test_encoding_is_deterministic_and_threads_do_not_matter(small_table: Any) -> None:
    ids = np.random.default_rng(2).integers(0, SYMBOLS, 120)
    codec = HardCodec(small_table, width=256, density=40)
    (first,), (second,) = codec.encode([ids]), codec.encode([ids])
    torch.set_num_threads(2)
    (third,), (decoded,) = codec.encode([ids]), codec.decode([first])
    assert decoded.exact
    for other in (second, third):
        assert (first.latents.tobytes(), first.side) == (other.latents.tobytes(), other.side)


def test_tiles_that_fail_are_halved_down_to_one_symbol_and_the_latents_counted(small_table: Any) -> None:
    ids = np.random.default_rng(3).integers(0, SYMBOLS, 200)
    codec = HardCodec(small_table, width=64, storage="int3", alphabet="vocabulary", density=17)
    (coded,) = codec.encode([ids])
    assert len(coded.latents) == latents_of(coded) > 2 * -(-200 // 17)
    lengths = Plan.unpack(coded.side, 200, SYMBOLS).lengths
    assert len(set(lengths.tolist())) > 1 and codec.decode([coded])[0].exact
    hasty = HardCodec(small_table, **{**codec.config(), "verify": False})
    assert not hasty.decode(hasty.encode([ids]))[0].exact


def test_twins_become_literals(make_table: Callable[..., Any]) -> None:
    """Two symbols of one feature: what was folded cannot be told, so the ids are kept."""
    table = make_table()
    table.features[1] = table.features[0]
    codec = HardCodec(table, width=64, storage="int3", density=4, prior="none")
    for ids in (np.array([0, 1, 1, 0, 2, 3, 1, 0, 5]), np.array([1, 0] * 20), np.array([1, 1, 1, 0])):
        (coded,) = codec.encode([ids])
        plan = Plan.unpack(coded.side, len(ids), SYMBOLS)
        assert len(plan.literals) >= min((ids == 0).sum(), (ids == 1).sum())
        assert set(plan.literals.tolist()) <= {0, 1} and len(coded.latents) == (plan.priors != LITERAL).sum()
        (decoded,) = codec.decode([coded])
        assert decoded.exact and decoded.ids.tolist() == ids.tolist()


def test_a_page_of_literals_alone(small_table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    codec = HardCodec(small_table, width=64, density=4)
    monkeypatch.setattr(HardCodec, "_comes_back", lambda self, ids, tiles, rows, model: np.zeros(len(rows), bool))
    ids = np.random.default_rng(4).integers(0, SYMBOLS, 30)
    (coded,) = codec.encode([ids])
    (decoded,) = codec.decode([coded])
    assert coded.latents.shape == (0, codec.latent_bytes) and decoded.exact and (decoded.confidence == 1).all()


def test_a_wrong_prior_is_dropped_tile_by_tile(small_table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    log_prior = np.where(np.arange(SYMBOLS) < 250, 0.0, -1000.0).astype(np.float32)
    monkeypatch.setattr(hard, "load_prior", lambda table: (log_prior, "cafe" * 16))
    codec = HardCodec(small_table, width=256, density=20, alphabet="vocabulary", prior="unigram", storage="int6")
    random = np.random.default_rng(5)
    ids = np.concatenate([random.integers(0, 250, 40), random.integers(250, 500, 40)])
    (coded,) = codec.encode([ids])
    assert Plan.unpack(coded.side, 80, SYMBOLS).priors.tolist() == [1, 1, 0, 0]
    assert len(coded.latents) == 4 and codec.decode([coded])[0].exact
    assert codec.config()["prior_hash"] == "cafe" * 16
    with pytest.raises(VtcError, match="unigram prior 0123 is not the shipped one"):
        HardCodec(small_table, prior="unigram", prior_hash="0123")


@pytest.mark.parametrize("storage", ["float32", "float16"])
def test_the_densest_start_ends_in_an_exact_page(small_table: Any, storage: str) -> None:
    """The widest fall of power that any density asks for is still one that documents can say."""
    codec = HardCodec(small_table, width=64, storage=storage, alphabet="vocabulary", density=1)
    codec = HardCodec(small_table, **{**codec.config(), "density": codec.capacity})
    ids = np.random.default_rng(6).integers(0, SYMBOLS, 300)
    (coded,) = codec.encode([ids])
    assert codec.decode([coded])[0].exact and len(coded.latents) < 40


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"storage": "int5"}, "--storage int5"),
        ({"width": 100}, "--width 100"),
        ({"width": 0}, "--width 0"),
        ({"width": -64}, "--width -64"),
        ({"alphabet": "words"}, "--alphabet words"),
        ({"prior": "trigram"}, "--prior trigram"),
        ({"alphabet": "vocabulary", "prior": "histogram"}, "--prior histogram needs --alphabet page"),
        ({"density": 0}, "--density 0"),
        ({"density": POSITIONS + 1, "width": 4096}, "lower --density"),
        ({"density": 41, "width": 64, "storage": "int3", "alphabet": "page"}, "holds 1 to 38 symbols; lower --density"),
        ({"prior": "unigram"}, "none ships for random; build one with: python -m codebooks.prior"),
    ],
)
def test_impossible_requests_are_refused_by_name(small_table: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        HardCodec(small_table, **options)


def test_capacity_is_shannons(small_table: Any) -> None:
    """4 bits a dimension hold at most log2(1 + 1 / 0.01154) / 2 = 3.23 bits; a symbol of 500 needs 8.97."""
    codec = HardCodec(small_table, width=1024, storage="int4", alphabet="vocabulary", density=1)
    assert codec.capacity == int(1024 * 3.2263 / 8.9658)
