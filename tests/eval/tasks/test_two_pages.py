"""Questions that need facts from two pages."""

from __future__ import annotations

import re

import pytest

from eval.schema import Item, Outcome, Probe
from eval.tasks.two_pages import TwoPages
from eval.tasks.two_pages.kinds import KINDS
from vtc.llm.vocabulary import Vocabulary
from vtc.records.errors import UsageError


@pytest.fixture(scope="module")
def items() -> list[Item]:
    return list(TwoPages(lengths=(1500, 4000), n=3).items())


def test_the_two_facts_of_a_question_are_far_apart(items: list[Item], vocabulary: Vocabulary) -> None:
    assert len(items) == len({item.id for item in items}) == 2 * len(KINDS) * 3
    for item in items:
        assert item.mode == "ask" and len(item.probes) == 2
        length = int(item.probes[0].tags["length"])
        assert 0.9 * length < len(vocabulary.encode(item.text.decode())) < 1.05 * length
        for probe in item.probes:
            facts = [item.text[start:stop].decode() for start, stop in probe.evidence]
            assert len(facts) == 2 and all(item.text.count(fact.encode()) == 1 for fact in facts)
            assert abs(probe.evidence[0][0] - probe.evidence[1][0]) > len(item.text) / 3
            values = probe.answer.split(" and ")
            assert all(re.fullmatch(r"[1-9]\d{4}", value) and f"{value}." in " ".join(facts) for value in values)
            assert not any(value in probe.prompt for value in values)


def test_neither_fact_alone_answers(items: list[Item]) -> None:
    """Of `both` each sentence holds one value; of `chain` the one with the value does not name who is asked for."""
    for item in items:
        for probe in item.probes:
            first, second = (item.text[start:stop].decode() for start, stop in probe.evidence)
            values = probe.answer.split(" and ")
            if probe.tags["kind"] == "both":
                assert [values[0] in first, values[1] in first] == [True, False]
                assert [values[0] in second, values[1] in second] == [False, True]
            else:
                owner, other = re.fullmatch(r"The (.*) lives with the (.*)\.", first).groups()  # type: ignore
                assert owner in probe.prompt and other not in probe.prompt and values[0] not in first
                assert other in second and owner not in second


def test_what_is_asked_second_is_wrong_for_the_first(items: list[Item]) -> None:
    for item in items:
        one, other = item.probes
        assert one.wrong == tuple(other.answer.split(" and ")) and other.wrong == tuple(one.answer.split(" and "))
        assert not set(one.wrong) & set(other.wrong)


def test_both_orders_occur_and_the_seed_decides(items: list[Item]) -> None:
    orders = {probe.evidence[0] < probe.evidence[1] for item in items for probe in item.probes}
    assert orders == {True, False}
    settings = {"lengths": (500,), "n": 1}
    assert (
        list(TwoPages(**settings).items())
        == list(TwoPages(**settings).items())
        != list(TwoPages(seed=1, **settings).items())
    )


@pytest.mark.parametrize(
    ("answer", "correct", "part", "misled"),
    [
        ("48213 and 77120", 1, 1, 0),
        ("77120, then 48213.", 1, 1, 0),
        ("48213", 0, 0.5, 0),
        ("48213, 77120 and 11111", 0, 1, 0),
        ("11111 and 48213", 0, 0.5, 0),
        ("11111", 0, 0, 1),
        ("148213 and 771200", 0, 0, 0),
    ],
)
def test_right_is_all_of_it_and_nothing_else(answer: str, correct: float, part: float, misled: float) -> None:
    probe = Probe("pair0", answer="48213 and 77120", wrong=("11111", "22222"), tags={"kind": "both"})
    item = Item("i", "manual", b"x", "ask", (probe,))
    found = TwoPages().score(item, probe, Outcome(answer))
    assert found == {"correct": correct, "part": part, "misled": misled}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lengths": ()}, "lengths=.*give at least one"),
        ({"lengths": (100,)}, "at least 500"),
        ({"kinds": ("chains",)}, "did you mean 'chain'"),
        ({"n": 0}, "n=0"),
        ({"filler": "mixd"}, "did you mean 'mixed'"),
        ({"split": "tst"}, "did you mean 'test'"),
    ],
)
def test_impossible_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        TwoPages(**settings)
