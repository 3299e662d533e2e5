"""Needles asked for in other words, and needles among look-alikes."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable

import pytest

from eval.schema import Item, Outcome, Probe
from eval.tasks.needle import Needle
from eval.tasks.needle.kinds import KINDS
from eval.tasks.needle.wordings import NEIGHBOURS, OTHER_WORDS
from eval.tasks.people import ROLES
from vtc.llm.vocabulary import Vocabulary
from vtc.records.errors import UsageError

FUNCTION = (
    "a an and at by do does for from go goes have in is of on that the to what which who whose with under until person "
    "other"
).split()
"""Words that say nothing about an owner or a value."""


def content(*texts: str) -> set[str]:
    """Content words, by their first four letters: "maker" and "makes" are one."""
    found = re.findall(r"[a-z]+", " ".join(texts).lower())
    return {word[:4] for word in found if word not in FUNCTION}


def test_a_paraphrase_shares_no_content_word_with_any_role_or_sentence() -> None:
    assert list(OTHER_WORDS) == list(NEIGHBOURS) == list(ROLES)
    named = content(*ROLES)
    for role, other in OTHER_WORDS.items():
        assert not content(other) & (named | content(NEIGHBOURS[role])), role
    for kind in KINDS.values():
        asked = content(kind.paraphrased.replace("{other}", ""))
        assert asked and not asked & (content(kind.sentence.format(owner="", value="")) | named)
    assert len({frozenset(content(other)) for other in OTHER_WORDS.values()}) == len(ROLES)


def test_a_neighbour_shares_a_word_with_its_role_and_is_none_itself() -> None:
    for role, neighbour in NEIGHBOURS.items():
        assert {word[:3] for word in content(role)} & {word[:3] for word in content(neighbour)}
        assert not any(other in neighbour for other in ROLES)
    assert len(set(NEIGHBOURS.values())) == len(ROLES)


def test_both_wordings_are_put_to_every_needle() -> None:
    settings = {"lengths": (1000,), "depths": (0.1, 0.5), "kinds": ("digits",), "needles": (1, 2)}
    items = list(Needle(wordings=("plain", "paraphrased"), **settings).items())
    assert [len(item.probes) for item in items] == [2, 2, 4, 4]
    for item in items:
        for plain, other in zip(item.probes[::2], item.probes[1::2], strict=True):
            assert (plain.answer, plain.evidence, plain.wrong) == (other.answer, other.evidence, other.wrong)
            assert plain.tags == {**other.tags, "wording": "plain"} and other.tags["wording"] == "paraphrased"
            (owner,) = (role for role in ROLES if role in plain.prompt)
            assert OTHER_WORDS[owner] in other.prompt and other.name == f"{plain.name}-paraphrased"
    alone = list(Needle(**settings).items())
    assert [item.text for item in alone] == [item.text for item in items], "wordings change no document"


def straws(item: Item) -> list[tuple[str, str, int]]:
    """Owner, value and byte of every sentence of a needle's form."""
    found = re.finditer(rb"The secret \w+ of the ([\w ]+) is ([\w -]+)\.", item.text)
    return [(match[1].decode(), match[2].decode(), match.start()) for match in found]


def test_the_evidence_is_the_needle(vocabulary: Vocabulary) -> None:
    for item in Needle(lengths=(1500,), depths=(0.2, 0.5, 0.8), needles=3, lookalikes=2, filler="code").items():
        assert 0.9 * 1500 < len(vocabulary.encode(item.text.decode())) < 1.05 * 1500
        for probe in item.probes:
            ((start, stop),) = probe.evidence
            sentence = item.text[start:stop].decode()
            assert sentence.endswith(f" is {probe.answer}.") and sentence.startswith("The secret ")
            assert item.text[stop : stop + 2] in (b"\n\n", b"")


@pytest.mark.parametrize("needles", [1, 2])
def test_lookalikes_stand_beside_and_elsewhere(needles: int) -> None:
    for item in Needle(lengths=(4000,), depths=(0.3, 0.7), lookalikes=3, needles=needles).items():
        found = straws(item)
        assert len(found) == needles * 4
        assert len({owner for owner, _, _ in found}) == len({value for _, value, _ in found}) == needles * 4
        right = {probe.answer: probe for probe in item.probes}
        wrong = {value: owner for owner, value, _ in found if value not in right}
        assert all(set(probe.wrong) == set(wrong) for probe in item.probes)
        for probe in item.probes:
            (owner,) = (owner for owner, value, _ in found if value == probe.answer)
            assert NEIGHBOURS[owner] in wrong.values()
            near = [value for _, value, at in found if abs(at - probe.evidence[0][0]) < 1500 and value in wrong]
            assert len(near) >= 2, "two of three stand beside it"


def test_no_lookalikes_leave_the_documents_as_they_were() -> None:
    item, *_ = Needle(lengths=(500,), depths=(0.5,), kinds=("digits",)).items()
    assert len(straws(item)) == 1 and item.probes[0].wrong == ()


def similar(kind: str, value: str) -> Iterable[str]:
    draw = random.Random(4)
    return (KINDS[kind].similar(value, draw) for _ in range(50))


def test_similar_values_are_of_the_kind() -> None:
    assert all(
        sum(a != b for a, b in zip("48213", v, strict=True)) <= 1 and v[0] == "4" for v in similar("digits", "48213")
    )
    value = "a64686c4-b570-47ff-9e02-5709e4d69238"
    assert all(v[:9] == value[:9] and len(v) == 36 and v[9:] != value[9:] for v in similar("uuid", value))
    assert all(v.split()[0] == "Ilsa" and len(v.split()) == 2 for v in similar("name", "Ilsa Brandt"))


@pytest.mark.parametrize(
    ("answer", "correct", "misled"),
    [("It is 48213.", 1, 0), ("It is 48214.", 0, 1), ("48213 or 48214", 0, 0), ("No idea.", 0, 0)],
)
def test_the_value_of_a_lookalike_is_wrong(answer: str, correct: float, misled: float) -> None:
    probe = Probe("needle0", answer="48213", wrong=("48214", "77777"), tags={"kind": "digits"})
    item = Item("i", "manual", b"x", "ask", (probe,))
    assert Needle().score(item, probe, Outcome(answer)) == {"correct": correct, "misled": misled}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"wordings": ()}, "wordings=.*give at least one"),
        ({"wordings": ("paraphrase",)}, "did you mean 'paraphrased'"),
        ({"needles": (1, 1)}, "needles=.*none twice"),
        ({"needles": (1, 9)}, "must be 1 to 5"),
        ({"lookalikes": -1}, "lookalikes=-1: must be 0 to 19"),
        ({"lookalikes": 10, "needles": 2, "lengths": (9000,)}, "must be 0 to 9 with needles=2"),
        ({"sample": (1, 2)}, "for each of lengths"),
        ({"sample": (1, 0, 1)}, "of at least 1"),
        ({"lookalikes": 4, "lengths": (400,)}, "each look-alike"),
        ({"split": "deve"}, "did you mean 'dev'"),
    ],
)
def test_impossible_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Needle(**settings)
