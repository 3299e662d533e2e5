"""Side information: any plan round trips in the bits that the code promises; damage is refused or is still a plan."""

from __future__ import annotations

import contextlib
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vtc.codecs.side import LITERAL, Plan, SideReader, balanced, number, rice
from vtc.records.errors import VtcError

VOCABULARY = 3000
COUNTS = st.lists(st.integers(0, 40) | st.integers(0, 70_000), max_size=80)


@given(st.lists(st.integers(0, 2**63 - 1), max_size=20))
def test_numbers_come_back(values: list[int]) -> None:
    reader = SideReader(b"".join(map(number, values)))
    assert [reader.number() for _ in values] == values
    assert reader.at == len(reader.data)


def test_numbers_are_leb128() -> None:
    assert number(624485) == bytes([0xE5, 0x8E, 0x26])  # the example of the DWARF standard


@given(st.lists(COUNTS, max_size=4))
def test_rice_codes_come_back_one_after_another(parts: list[list[int]]) -> None:
    reader = SideReader(b"".join(rice(np.array(part, np.int64)) for part in parts))
    for part in parts:
        assert reader.numbers(len(part)).tolist() == part
    assert reader.at == len(reader.data)


@given(COUNTS)
def test_rice_takes_the_bits_of_the_best_parameters(values: list[int]) -> None:
    """Golomb-Rice: k low bits and the quotient in unary; the cheapest k of 16 for each group of 16."""
    groups = [values[i : i + 16] for i in range(0, len(values), 16)]
    bits = sum(4 + min(sum(k + 1 + (v >> k) for v in group) for k in range(16)) for group in groups)
    assert len(rice(np.array(values, np.int64))) == -(-bits // 8)


def test_rice_layout() -> None:
    """Parameters, low bits, unary quotients; worked out by hand for 5, 6 with k = 2: 0010 | 01 10 | 10 10."""
    assert rice(np.array([5, 6])) == bytes([0b00100110, 0b10100000])


@given(st.integers(1, 3000), st.data())
def test_balanced(symbols: int, data: st.DataObject) -> None:
    tiles = data.draw(st.integers(1, symbols))
    lengths = balanced(symbols, tiles)
    assert (len(lengths), lengths.sum()) == (tiles, symbols)
    assert lengths.max() - lengths.min() <= 1 and (np.diff(lengths) <= 0).all()


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Any plan that the codec could make, and more."""
    if draw(st.booleans()):
        lengths = np.array(draw(st.lists(st.integers(1, 60), min_size=1, max_size=20)))
        priors = np.array(draw(st.lists(st.integers(0, 2), min_size=len(lengths), max_size=len(lengths))))
    else:
        tiles = draw(st.integers(1, 30))
        lengths = balanced(draw(st.integers(tiles, 600)), tiles)
        priors = np.full(tiles, draw(st.integers(0, 2)))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    alphabet = counts = None
    if draw(st.booleans()):
        size = min(int(lengths.sum()), draw(st.integers(1, 300)))
        alphabet = np.sort(random.choice(VOCABULARY, size, replace=False))
        counts = random.integers(1, 50, size) if draw(st.booleans()) else None
    literals = random.integers(0, VOCABULARY, int(lengths[priors == LITERAL].sum()))
    return Plan(lengths, priors, draw(st.integers(0, 120)), alphabet, counts, literals)


def same(one: Plan, other: Plan) -> None:
    for name in ("lengths", "priors", "alphabet", "counts", "literals"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.decay == other.decay


@settings(deadline=None)
@given(plans())
def test_plans_come_back(plan: Plan) -> None:
    same(plan, Plan.unpack(plan.pack(), int(plan.lengths.sum()), VOCABULARY))


def test_a_regular_plan_takes_four_bytes_and_an_alphabet_little_more_than_its_entropy() -> None:
    nothing = np.zeros(0, np.int64)
    assert len(Plan(balanced(1000, 9), np.full(9, 0), 12, None, None, nothing).pack()) == 4
    alphabet = np.sort(np.random.default_rng(0).choice(49152, 400, replace=False))
    packed = Plan(balanced(1000, 9), np.full(9, 0), 12, alphabet, None, nothing).pack()
    assert len(packed) < 1.05 * math.log2(math.comb(49152, 400)) / 8 + 6


def is_a_plan(plan: Plan, symbols: int) -> bool:
    alphabet = [] if plan.alphabet is None else plan.alphabet.tolist()
    return (
        int(plan.lengths.sum()) == symbols
        and min(plan.lengths) >= 1
        and set(plan.priors.tolist()) <= {0, 1, 2}
        and alphabet == sorted(set(alphabet))
        and all(0 <= i < VOCABULARY for i in [*alphabet, *plan.literals.tolist()])
        and len(plan.literals) == int(plan.lengths[plan.priors == LITERAL].sum())
        and (plan.counts is None or (len(plan.counts) == len(alphabet) and min(plan.counts) >= 1))
    )


@settings(deadline=None, max_examples=300)
@given(plans(), st.data())
def test_damaged_bytes_are_refused_or_a_plan(plan: Plan, data: st.DataObject) -> None:
    symbols, side = int(plan.lengths.sum()), bytearray(plan.pack())
    for _ in range(data.draw(st.integers(1, 3))):
        side[data.draw(st.integers(0, len(side) - 1))] = data.draw(st.integers(0, 255))
    side = side[: data.draw(st.integers(0, len(side)))]
    with contextlib.suppress(VtcError):
        assert is_a_plan(Plan.unpack(bytes(side), symbols, VOCABULARY), symbols)


@settings(max_examples=300)
@given(st.binary(max_size=40), st.integers(1, 500))
def test_foreign_bytes_are_refused_or_a_plan(side: bytes, symbols: int) -> None:
    with contextlib.suppress(VtcError):
        assert is_a_plan(Plan.unpack(side, symbols, VOCABULARY), symbols)


def test_ids_outside_the_vocabulary_are_refused() -> None:
    nothing = np.zeros(0, np.int64)
    listed = Plan(np.array([3]), np.array([0]), 0, np.array([1, 2, 100]), None, nothing)
    literal = Plan(np.array([3]), np.array([LITERAL]), 0, None, None, np.array([1, 2, 100]))
    for plan in (listed, literal):
        same(plan, Plan.unpack(plan.pack(), 3, 101))
        with pytest.raises(VtcError, match="does not fit the page"):
            Plan.unpack(plan.pack(), 3, 100)


@given(plans())
def test_every_truncation_is_refused(plan: Plan) -> None:
    """Whole bytes are missing, so that at least one number lacks bits."""
    side, symbols = plan.pack(), int(plan.lengths.sum())
    for end in range(len(side)):
        with pytest.raises(VtcError, match="side information"):
            Plan.unpack(side[:end], symbols, VOCABULARY)


@pytest.mark.parametrize(
    "side",
    [
        number(0) + number(3) + number(2**62),  # tiles
        number(4) + number(3) + number(900_000),  # irregular tiles without their bytes
        number(1) + number(3) + number(1) + number(0) + number(2**62),  # alphabet
        number(3) + number(3) + number(1) + number(0) + number(900_000) + b"\xff" * 100,
        number(0) + number(3) + number(1) + number(2),  # a literal page without its ids
        number(0) + number(2**62) + number(1) + number(0),  # decay
        b"\xff" * 50,
    ],
)
def test_absurd_sizes_are_refused_without_taking_memory(side: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(VtcError, match="side information"):
            Plan.unpack(side, 1_000_000, 49152)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
