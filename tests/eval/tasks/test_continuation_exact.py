"""Continuations of documents of given lengths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.data import data_dir
from eval.schema import Item
from eval.tasks.continuation import Continuation
from eval.tasks.continuation.exact import OWN, SLACK, candidates, free, tail
from eval.tasks.filler import documents
from eval.tasks.split import side
from vtc.llm.vocabulary import Vocabulary
from vtc.records.errors import UsageError

needs_data = pytest.mark.skipif(
    not (data_dir() / "fox_en.jsonl.gz").is_file(),
    reason="no evaluation texts: name their directory in VTC_DATA (from dududuck00/DeepSeekOCR)",
)
WINDOW = 8192


def check(items: list[Item], words: Vocabulary) -> None:
    """Exact lengths, tokenized as one, each continuation whole inside one text and scored once."""
    held: dict[tuple[str, str], list[tuple[int, int]]] = {}
    texts = {(domain, name): t for domain in {item.subset for item in items} for name, t in documents(domain)}
    for item in items:
        document, (held_out,) = item.text.decode(), item.probes[0].choices
        length = int(item.probes[0].tags["length"])
        parts = [words.encode(document), words.encode(held_out)]
        assert length - SLACK - 16 <= len(parts[0]) <= length * 1.02 and 65 <= len(parts[1]) < 65 + 64
        assert 1 + len(parts[0]) + len(parts[1]) <= WINDOW
        assert np.array_equal(np.concatenate(parts), words.encode(document + held_out))
        end = document[-400:].split("\n\n")[-1] + held_out  # no blank line: surely of one text
        (source,) = [key for key, text in texts.items() if end in text and item.id.startswith("-".join(key))]
        start = texts[source].index(end) + len(end) - len(held_out)
        assert all(start >= b or start + len(held_out) <= a for a, b in held.get(source, []))
        held.setdefault(source, []).append((start, start + len(held_out)))


def test_lengths_are_those_asked_for(vocabulary: Vocabulary) -> None:
    settings = {"domains": ("manual", "code"), "lengths": (1000, 7900), "n": (5, 3)}
    items = list(Continuation(**settings).items())
    check(items, vocabulary)
    found = [(item.subset, item.probes[0].tags["length"]) for item in items]
    assert found == [("manual", 1000)] * 3 + [("manual", 7900)] + [("code", 1000)] * 2 + [("code", 7900)] * 2


def test_the_seed_draws() -> None:
    def made(seed: int) -> list[Item]:
        return list(Continuation(domains=("manual",), lengths=(500, 1000), n=2, seed=seed).items())

    assert made(0) == made(0) != made(1)


@needs_data
def test_a_side_of_short_texts_has_long_documents_too(vocabulary: Vocabulary) -> None:
    items = list(Continuation(split="test", domains=("prose", "fox"), lengths=(1000, 7900), n=(4, 2)).items())
    check(items, vocabulary)
    texts = {(d, n): t for d in ("prose", "fox") for n, t in documents(d)}
    for item in items:
        opened = item.text.decode()[:60], item.text.decode()[-60:]
        for piece in opened:
            (key,) = [key for key, text in texts.items() if piece in text]
            assert side("/".join(key)) == "test"


@needs_data
def test_a_length_that_a_side_lacks_is_named() -> None:
    with pytest.raises(UsageError, match="prose has no stretch of 7900 tokens of its side dev"):
        list(Continuation(split="dev", domains=("prose",), lengths=(7900,), n=1).items())


@given(st.lists(st.integers(1, 2000), max_size=30), st.integers(OWN + 20, 3000))
def test_candidates_are_disjoint_whole_and_end_within_one_text(sizes: list[int], size: int) -> None:
    held_out, seen = 10, set()
    for spans in candidates(sizes, size, held_out):
        tokens = [(number, place) for number, first, last in spans for place in range(first, last)]
        assert not seen & set(tokens) and len(set(tokens)) == len(tokens)
        seen |= set(tokens)
        assert all(0 <= first < last <= sizes[number] for number, first, last in spans)
        assert size - len(spans) <= len(tokens) <= size
        number, first, last = spans[-1]
        assert last - first >= min(size, OWN + held_out)
        assert [number for number, _, _ in spans] == sorted({number for number, _, _ in spans})
    whole = sum(count // size for count in sizes)
    assert len(candidates(sizes, size, held_out)) >= whole


def test_the_tail_counts_what_separates() -> None:
    spans = [(0, 0, 10), (1, 0, 10), (2, 5, 15)]
    assert tail(spans, 10) == [(2, 5, 15)]
    assert tail(spans, 15) == [(1, 6, 10), (2, 5, 15)], "4 and 10 and one between them"
    assert tail(spans, 32) == tail(spans, 99) == spans


def test_no_continuation_is_taken_twice() -> None:
    taken = [(0, 900, 1000)]
    drawn = [[(0, 0, 1030)], [(1, 0, 1030)], [(0, 100, 1200)], [(2, 0, 9), (0, 0, 901)]]
    assert free(drawn, 5, 10, taken) == [[(1, 0, 1030)], [(0, 100, 1200)]]
    assert len(taken) == 3 and free(drawn, 5, 10, taken) == []
    assert free([[(7, 0, 500)], [(8, 0, 500)]], 1, 10, taken) == [[(7, 0, 500)]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lengths": (500, 500)}, "none twice"),
        ({"lengths": (3,)}, "at least 16"),
        ({"lengths": (500, 900), "n": (1,)}, "as many as lengths"),
        ({"n": (1, 2)}, "as many as lengths"),
        ({"lengths": (500,), "n": (0,)}, "must be at least 1"),
        ({"split": "tset"}, "did you mean 'test'"),
    ],
)
def test_impossible_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Continuation(**settings)
