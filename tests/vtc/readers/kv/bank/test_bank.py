"""A document in pages, and the choice among them."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest
import torch

from vtc.llm.frozen import FrozenLM
from vtc.readers.kv.bank import bank as module
from vtc.readers.kv.bank.bank import Bank, Choosing, within
from vtc.readers.kv.bank.place import without
from vtc.readers.kv.cache import CompactCache
from vtc.readers.kv.compact import Recipe, compacted, extended, opened
from vtc.records.errors import UsageError

OPENING = np.array([1, 2, 3], np.int32)
TEXT = (
    "The lamp hangs on the wall of the red house.\nIt is old.\n\n"
    "A boat lies at the pier and waits for the tide.\nNobody is on it.\n\n"
    "Three geese walk over the meadow behind the mill.\nThey are loud."
)


def bank_of(lm: FrozenLM, ratio: float = 4, tokens: int = 80) -> Bank:
    return Bank.of(lm, OPENING, lm.vocabulary.encode(TEXT), ratio, page_tokens=tokens)


def test_pages_are_those_of_the_text(lm: FrozenLM) -> None:
    bank = bank_of(lm)
    parts = [TEXT.encode()[a:b] for a, b in bank.spans]
    assert b"".join(parts) == TEXT.encode() and len(parts) == len(bank.pages) == 3
    assert bank.tokens == [len(part) for part in parts]  # the tokenizer's tokens are bytes
    assert all(part.endswith(b"\n\n") for part in parts[:-1])


def test_one_page_alone_is_what_the_plain_reader_keeps(lm: FrozenLM) -> None:
    ids = lm.vocabulary.encode(TEXT[:60])
    bank = Bank.of(lm, OPENING, ids, 3)
    plain = compacted(lm, OPENING, ids, 3)
    alone = bank.assemble([0], gap=0)
    assert alone.get_seq_length() == plain.get_seq_length() and bank.heads == []
    assert bank.choose(ids, "anything") == [(0, 0.0)]
    for found, expected in zip(alone.kept, plain.kept, strict=True):
        assert found.counts == expected.counts and found.index.equal(expected.index)
        for name in ("keys", "values", "bias"):
            torch.testing.assert_close(getattr(found, name), getattr(expected, name), atol=5e-3, rtol=5e-3)


def test_a_question_s_pages_are_the_same_each_time_best_first(lm: FrozenLM) -> None:
    bank = bank_of(lm)
    asked = lm.vocabulary.encode(" Who walks behind the mill?\n")
    found = bank.choose(asked, "Who walks behind the mill?", most=2)
    assert found == bank.choose(asked, "Who walks behind the mill?", most=2) and len(found) == 2
    assert found[0].score >= found[1].score
    again = Bank(lm, OPENING, bank.pages, [TEXT.encode()[a:b] for a, b in bank.spans], bank.heads)
    assert again.choose(asked, "Who walks behind the mill?", most=2) == found


def test_words_and_looks_give_candidates(lm: FrozenLM) -> None:
    bank = bank_of(lm)
    asked = lm.vocabulary.encode("the tide")
    by_looks = bank.choose(asked, "the tide", 3, Choosing(0, 1, 0))
    by_both = bank.choose(asked, "the tide", 3, Choosing(1, 1, 0))
    assert len(by_looks) == 1 and {choice.page for choice in by_both} == {by_looks[0].page, 1}  # only page 1 has a tide
    assert len(bank.choose(asked, "xyz", 3, Choosing(3, 2))) == 2  # no word is shared
    assert len(bank.choose(lm.vocabulary.encode("?"), "?", 3)) == 3  # a single token, with nothing before it


def test_the_halves_of_a_bank_are_not_copied(lm: FrozenLM) -> None:
    bank = bank_of(lm)
    again = Bank(lm, OPENING, bank.pages, [TEXT.encode()[a:b] for a, b in bank.spans], bank.heads)
    for old, new in zip(bank.pages, again.pages, strict=True):
        assert all(a.keys.data_ptr() == b.keys.data_ptr() for a, b in zip(old.kept, new.kept, strict=True))


def test_some_candidates_are_needed() -> None:
    with pytest.raises(UsageError, match="looks at least 1"):
        Choosing(looks=0)


def test_likelihood_weighs_in(lm: FrozenLM) -> None:
    bank = bank_of(lm)
    asked = lm.vocabulary.encode("? the tide")
    plain = {c.page: c.score for c in bank.choose(asked, "the tide", 3, Choosing(3, 3, 0))}
    for page, score in bank.choose(asked, "the tide", 3, Choosing(3, 3, 2.0)):
        gap = max(bank.tokens) - bank.tokens[page]
        told = -lm.choices_nll(asked[:2], [asked[2:]], bank.assemble([page], gap=gap))[0].sum()
        assert score == pytest.approx(plain[page] + 2 * float(told), rel=1e-3, abs=1e-2)


def test_pages_are_given_up_once_they_are_compacted(lm: FrozenLM, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[weakref.ref[CompactCache]] = []
    held: list[int] = []

    def counted(*arguments: Any) -> CompactCache:
        held.append(sum(ref() is not None for ref in made))
        made.append(weakref.ref(page := extended(*arguments)))
        return page

    monkeypatch.setattr(module, "extended", counted)
    bank_of(lm, tokens=30)
    assert len(held) > 4 and max(held) == 0


def test_fewer_pages_where_the_window_is_small(lm: FrozenLM) -> None:
    bank = bank_of(lm)
    chosen = bank.choose(lm.vocabulary.encode("the tide"), "the tide", 3, Choosing(3, 3))
    sizes = [bank.tokens[choice.page] for choice in chosen]
    assert bank.fitting(chosen, sizes[0] + sizes[1]) == [chosen[1].page, chosen[0].page]
    assert bank.fitting(chosen, sizes[0] - 1) == []


@pytest.mark.parametrize(
    ("part", "expected"), [("the tide", (2, 10)), ("not there", (0, 11)), ("? the tide!", (0, 11))]
)
def test_where_a_question_stands(lm: FrozenLM, part: str, expected: tuple[int, int]) -> None:
    ids = lm.vocabulary.encode("? the tide!")
    assert within(ids, lm.vocabulary, part) == expected


@pytest.mark.parametrize(
    ("question", "value"), [("What does the harbour master wear?", b"purple"), ("How tall is the flagpole?", b"41")]
)
def test_the_default_model_finds_the_page(questions: Bank, question: str, value: bytes) -> None:
    closing = questions.llm.vocabulary.encode(f"\n\nAnswer: {question}\n")
    best = questions.choose(closing, question, 1)[0].page
    assert value in FACTS[best]


FACTS = [
    b"The harbour master always wears a purple coat and a hat of straw. ",
    b"The flagpole beside the church is 41 feet high and painted white. ",
    b"Every spring the children bring eggs to the old woman at the well. ",
    b"The baker closes his shop at noon and sleeps until four o'clock. ",
]


@pytest.fixture(scope="module")
def questions() -> Bank:
    llm = FrozenLM.load()
    opening = llm.vocabulary.encode("Read this text.\n\n")
    sink = opened(llm, opening)
    read = (extended(llm, sink, llm.vocabulary.encode(text.decode()), 4, Recipe()) for text in FACTS)
    return Bank(llm, opening, [without(page, len(opening)) for page in read], FACTS)
