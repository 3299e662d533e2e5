"""Pages end where the text does, and lose nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtc.llm.vocabulary import Vocabulary
from vtc.readers.kv.bank.cut import page_ends


@pytest.fixture(scope="module")
def words(tiny_folder: Path) -> Vocabulary:
    return Vocabulary.load(tiny_folder)


@given(text=st.text(alphabet="ab .\n", min_size=1, max_size=400), size=st.integers(1, 60))
def test_pages_cover_the_text_and_none_is_longer(words: Vocabulary, text: str, size: int) -> None:
    ids = words.encode(text)
    sizes = np.diff([0, *page_ends(ids, words, size)])
    assert sizes.sum() == len(ids) and sizes.min() >= 1 and sizes.max() <= size


@given(count=st.integers(1, 3000), size=st.integers(20, 300))
def test_a_text_without_ends_gives_pages_of_like_size(words: Vocabulary, count: int, size: int) -> None:
    sizes = np.diff([0, *page_ends(words.encode("a" * count), words, size)])
    assert sizes.max() - sizes.min() <= 1 and len(sizes) == -(-count // size)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("a" * 38 + "\n" + "aaa." + "a" * 42, 39),  # a line's end before a sentence's
        ("a" * 40 + "." + "a" * 44, 41),
        ("a" * 37 + ".aaaa." + "a" * 42, 43),  # of equals the nearest to half of it
        ("a" * 20 + "\n" + "a" * 64, 42),  # too far away
    ],
)
def test_a_page_ends_at_the_best_end_near(words: Vocabulary, text: str, end: int) -> None:
    ids = words.encode(text)
    assert page_ends(ids, words, 50) == [end, len(ids)]
