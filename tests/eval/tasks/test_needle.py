"""Values hidden in long texts."""

from __future__ import annotations

import re
import uuid
import weakref
from typing import Any

import pytest

from eval.schema import Item, Outcome, Probe
from eval.tasks.filler import documents
from eval.tasks.needle import DEPTHS, LENGTHS, Needle
from eval.tasks.needle import documents as builder
from eval.tasks.needle.documents import places, spread
from eval.tasks.needle.score import holds
from vtc.llm.frozen import FrozenLM
from vtc.llm.vocabulary import Vocabulary
from vtc.records.errors import UsageError


def test_the_default_is_a_part_of_the_whole_grid() -> None:
    assert LENGTHS == (500, 1000, 2000, 4000, 8000, 16000, 32000, 110_000, 262_000) and set(Needle().lengths) < set(
        LENGTHS
    )
    seen = [(p.tags["length"], p.tags["depth"], p.tags["kind"]) for item in Needle().items() for p in item.probes]
    assert len(seen) == len(set(seen)) == 3 * 5 * 3
    assert {depth for _, depth, _ in seen} == set(DEPTHS)


@pytest.mark.parametrize("needles", [1, 3])
@pytest.mark.parametrize("filler", ["manual", "code"])
def test_each_needle_stands_once_at_its_depth(needles: int, filler: str, vocabulary: Vocabulary) -> None:
    filling = {text for _, text in documents(filler)}
    ids = set()
    for item in Needle(lengths=(1000, 3000), depths=(0.1, 0.5, 0.9), needles=needles, filler=filler).items():
        text = item.text.decode()
        ids.add(item.id)
        assert item.mode == "ask" and item.subset == filler and len(item.probes) == needles
        assert len({probe.prompt for probe in item.probes}) == len({p.tags["depth"] for p in item.probes}) == needles
        for probe in item.probes:
            length = int(probe.tags["length"])
            assert 0.9 * length <= len(vocabulary.encode(text)) <= 1.02 * length
            assert len(re.findall(re.escape(probe.answer), text)) == 1
            (paragraph,) = [part for part in text.split("\n\n") if probe.answer in part]
            assert re.fullmatch(r"The secret \w+ of the [\w ]+ is [\w -]+\.", paragraph)
            assert text.index(probe.answer) / len(text) == pytest.approx(float(probe.tags["depth"]), abs=0.1)
            assert not any(probe.answer in other for other in filling)
            owner = re.search("of the (.*) is", paragraph)
            assert owner and owner[1] in probe.prompt and probe.tags["needles"] == needles
    assert len(ids) == 2 * 3 * 3


def test_values_are_of_their_kind() -> None:
    for item in Needle(lengths=(500,), n=2).items():
        (probe,) = item.probes
        if probe.tags["kind"] == "digits":
            assert re.fullmatch(r"[1-9]\d{4}", probe.answer)
        elif probe.tags["kind"] == "uuid":
            assert str(uuid.UUID(probe.answer)) == probe.answer
        else:
            assert len(probe.answer.split()) == 2


def test_the_seed_decides_everything() -> None:
    def made(**settings: int) -> list[Item]:
        return list(Needle(lengths=(500,), depths=(0.5,), **settings).items())

    assert made() == made() != made(seed=1)
    assert [item.probes for item in made(n=2)][::2] == [item.probes for item in made()]


def test_a_sample_is_spread_over_the_grid() -> None:
    for count in range(1, 40):
        assert sorted(places(count, 99)) == list(range(count))
        for sample in range(1, count + 1):
            found = places(count, sample)
            assert len(set(found)) == sample and found[0] == 0
            gaps = [b - a for a, b in zip(found, [*found[1:], count], strict=True)]
            assert max(gaps) < 3.5 * count / sample, "nowhere a large hole"
    settings: dict[str, Any] = {"lengths": (600, 900), "depths": (0.1, 0.5, 0.9), "needles": (1, 3)}
    every = {item.id: item for item in Needle(**settings).items()}
    found = list(Needle(sample=(7, 3), **settings).items())
    assert all(every[item.id] == item for item in found) and len(every) == 36
    assert [item.probes[0].tags["length"] for item in found] == [600] * 7 + [900] * 3
    assert {item.probes[0].tags["kind"] for item in found[:7]} == {"digits", "uuid", "name"}
    assert {len(item.probes) for item in found[7:]} == {1, 3}


def test_documents_are_made_one_at_a_time_and_none_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a length far beyond the window."""
    made: list[weakref.ref[Item]] = []
    real = builder.item

    def item(*settings: Any) -> Item:
        found = real(*settings)
        made.append(weakref.ref(found))
        return found

    monkeypatch.setattr(builder, "item", item)
    stream = Needle(lengths=(32000,), kinds=("digits",)).items()
    for count in range(1, 4):
        current = next(stream)
        assert len(current.text) > 100_000 and len(made) == count, "nothing is made ahead"
        assert [ref() is not None for ref in made] == [False] * (count - 1) + [True]


@pytest.mark.parametrize(
    ("kind", "value", "answer", "right"),
    [
        ("digits", "48213", "It is 48213.", True),
        ("digits", "48213", "It is 148213.", False),
        ("digits", "48213", "It is 482130", False),
        ("digits", "48213", "code48213", True),
        ("digits", "48213", "48 213", False),
        ("uuid", "a64686c4-b570-47ff-9e02-5709e4d69238", "KEY: A64686C4-B570-47FF-9E02-5709E4D69238.", True),
        ("uuid", "a64686c4-b570-47ff-9e02-5709e4d69238", "64686c4-b570-47ff-9e02-5709e4d69238", False),
        ("uuid", "a64686c4-b570-47ff-9e02-5709e4d69238", "a64686c4-b570-47ff-9e02-5709e4d692387", False),
        ("name", "Ilsa Brandt", "She was ILSA\nBrandt!", True),
        ("name", "Ilsa Brandt", "Brandt", False),
        ("name", "Ilsa Brandt", "Ilsa Brandtner", False),
        ("name", "Ilsa Brandt", "", False),
    ],
)
def test_right_is_the_whole_value(kind: str, value: str, answer: str, right: bool) -> None:
    probe = Probe("needle0", answer=value, tags={"kind": kind})
    item = Item("i", "manual", b"x", "ask", (probe,))
    assert Needle().score(item, probe, Outcome(answer)) == {"correct": float(right)}


def test_a_pattern_in_a_value_is_plain_text() -> None:
    assert not holds("abc", "a.c", r"\w") and holds("(a.c)", "a.c", r"\w")


def test_several_needles_stand_at_depths_of_their_own() -> None:
    assert spread(DEPTHS, 0.7, 3) == [0.7, 0.9, 0.1]
    assert spread(DEPTHS, 0.3, 2) == [0.3, 0.7]
    assert spread(DEPTHS, 0.1, 1) == [0.1]


def test_the_default_model_answers_from_the_whole_text(llm: FrozenLM) -> None:
    from eval.systems.base import Bench
    from eval.systems.reader import ReaderSystem

    bench = Bench()
    bench.__dict__["llm"] = llm
    task = Needle(lengths=(300,), depths=(0.5,), kinds=("digits",))
    (item,) = task.items()
    right = [
        task.score(item, item.probes[0], ReaderSystem(bench, name, {}).run(item).outcomes[0])["correct"]
        for name in ("text", "none")
    ]
    assert right == [1.0, 0.0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lengths": ()}, "lengths=.*give at least one"),
        ({"depths": (0.5, 0.5)}, "none twice"),
        ({"lengths": (50,)}, "at least 100 tokens for each needle"),
        ({"lengths": (200,), "needles": 3}, "at least 100 tokens for each needle"),
        ({"depths": (1.5,)}, "must be from 0"),
        ({"kinds": ("digit",)}, "did you mean 'digits'"),
        ({"needles": 6}, "must be 1 to 5"),
        ({"needles": 0}, "must be 1 to 5"),
        ({"n": 0}, "n=0"),
        ({"filler": "manua"}, "did you mean 'manual'"),
    ],
)
def test_impossible_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Needle(**settings)
