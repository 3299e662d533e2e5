"""Metrics against an independent textbook distance and hand-counted cases."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtc import metrics

TEXT = st.text(alphabet="ab1 \n漢é", max_size=24)
WORDS = st.lists(st.sampled_from(["a1", "1976", "the", "x_y", "end."]), max_size=12)


def naive_distance(left: str, right: str) -> int:
    """Wagner and Fischer's table, one row at a time."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        above, row = row, [i]
        for j, b in enumerate(right, start=1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a != b)))
    return row[-1]


@given(TEXT, TEXT)
def test_char_accuracy_is_one_minus_distance_over_longest(reference: str, hypothesis: str) -> None:
    longest = max(len(reference), len(hypothesis))
    expected = 1 - naive_distance(reference, hypothesis) / longest if longest else 1.0
    assert metrics.char_accuracy(reference, hypothesis) == pytest.approx(expected, abs=1e-12)


@given(TEXT, TEXT)
def test_char_accuracy_is_one_only_for_equal_texts(reference: str, hypothesis: str) -> None:
    score = metrics.char_accuracy(reference, hypothesis)
    assert 0.0 <= score <= 1.0
    assert (score == 1.0) == (reference == hypothesis)
    assert score == metrics.char_accuracy(hypothesis, reference)


def test_char_accuracy_of_kitten_and_sitting() -> None:
    assert metrics.char_accuracy("kitten", "sitting") == pytest.approx(1 - 3 / 7)


def test_normalised_accuracy_forgives_whitespace_alone() -> None:
    assert metrics.char_accuracy_normalised(" a\t b\n\nc ", "a b c") == 1.0
    assert metrics.char_accuracy(" a\t b\n\nc ", "a b c") < 1.0
    assert metrics.char_accuracy_normalised("ab", "a b") == pytest.approx(2 / 3)


def test_long_texts_are_scored_exactly() -> None:
    letters = random.Random(0).choices("abcdefgh ", k=120_000)
    damaged = letters.copy()
    for place in range(0, len(damaged), 1000):
        damaged[place] = "Z"  # foreign to the original: each costs exactly one edit
    assert metrics.char_accuracy("".join(letters), "".join(damaged)) == pytest.approx(1 - 120 / 120_000)


@pytest.mark.parametrize(
    ("word", "digit", "identifier", "alphabetic"),
    [
        ("1976", True, False, False),
        ("(1)(a)", True, True, False),
        ("utf8", True, True, False),
        ("0x1f", True, True, False),
        ("__init__", False, True, False),
        ("a@b.org", False, True, False),
        ("C:\\dir", False, True, False),
        ("$5", True, False, False),
        ("___", False, False, False),
        ("and/or", False, False, False),
        ("well-known", False, False, False),
        ("camelCase", False, False, True),
        ("über", False, False, True),
        ("漢字", False, False, True),
        ("word,", False, False, False),
        ("٣", True, False, False),
    ],
)
def test_kinds_of_words(word: str, digit: bool, identifier: bool, alphabetic: bool) -> None:
    assert metrics.is_digit_word(word) is digit
    assert metrics.is_identifier(word) is identifier
    assert metrics.is_alphabetic(word) is alphabetic


def test_recall_counts_repeats() -> None:
    reference = "page 7 of 7, line 7 x1 x1"
    assert metrics.digit_word_recall(reference, "7 7,") == (2, 5)
    assert metrics.digit_word_recall(reference, "7 7 7 7, x1 x1") == (5, 5)
    assert metrics.identifier_recall(reference, "x1") == (1, 2)
    assert metrics.alphabetic_word_recall(reference, "line of of") == (2, 3)
    assert metrics.digit_word_recall(reference, "7 7,").rate == pytest.approx(0.4)


def test_recall_of_nothing_wanted_is_not_a_number() -> None:
    recall = metrics.digit_word_recall("no figures here", "1 2 3")
    assert recall == (0, 0)
    assert math.isnan(recall.rate)


@given(WORDS, WORDS)
def test_recall_by_removing_words_one_by_one(reference: list[str], hypothesis: list[str]) -> None:
    rest, found = list(hypothesis), 0
    wanted = [word for word in reference if any(c in "0123456789" for c in word)]
    for word in wanted:
        if word in rest:
            rest.remove(word)
            found += 1
    assert metrics.digit_word_recall(" ".join(reference), "\n".join(hypothesis)) == (found, len(wanted))


def test_fox_set_precision_ignores_order_repeats_and_missing_text() -> None:
    assert metrics.fox_set_precision("a b c d e", "b a a a") == 1.0
    assert metrics.fox_set_precision("a b c", "a x x y") == pytest.approx(1 / 3)
    assert metrics.fox_set_precision("a", "") == 0.0
    assert metrics.fox_set_precision("", "") == 1.0


def test_summary_of_known_scores() -> None:
    summary = metrics.summarise([1.0, 0.0, 0.5, 1.0, 0.75])
    assert (summary.pages, summary.exact) == (5, 2)
    assert summary.mean == pytest.approx(0.65)
    assert summary.median == 0.75
    assert summary.p5 == pytest.approx(0.1)  # a fifth of the way from 0.0 to 0.5
    with pytest.raises(ValueError, match="no scores"):
        metrics.summarise([])


def test_fidelity_pools_words_over_pages() -> None:
    row = metrics.fidelity(["1 2 3 ok", "4 ok"], ["1 2 3 ok", "9  ok"])
    assert row["pages"] == 2
    assert row["exact_pages"] == row["exact_pages_normalised"] == 1
    assert row["digit_word_recall"] == pytest.approx(3 / 4)
    assert row["alphabetic_word_recall"] == 1.0
    assert row["char_accuracy_mean"] == pytest.approx((1 + 1 - 2 / 5) / 2)
    assert row["char_accuracy_normalised_mean"] == pytest.approx((1 + 1 - 1 / 4) / 2)
    assert math.isnan(row["identifier_recall"])
    with pytest.raises(ValueError):
        metrics.fidelity(["a"], [])


def test_ratios_grow_as_the_stored_form_shrinks() -> None:
    assert metrics.position_ratio(826, 73) == pytest.approx(11.315, abs=1e-3)
    assert metrics.latent_ratio(826, 64) == pytest.approx(12.906, abs=1e-3)
    assert metrics.byte_ratio(1000, 4000) == 0.25
    with pytest.raises(ValueError, match="latents"):
        metrics.latent_ratio(5, 0)
