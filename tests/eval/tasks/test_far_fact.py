"""Facts stated early and needed late."""

from __future__ import annotations

import re

import numpy as np
import pytest

from eval.schema import Item, Outcome, Probe
from eval.tasks.far_fact import FarFact
from eval.tasks.far_fact.documents import early
from eval.tasks.far_fact.facts import FACTS, KINDS
from eval.tasks.filler import documents
from eval.tasks.people import ROLES
from vtc.llm.vocabulary import Vocabulary
from vtc.records.errors import UsageError


def test_there_are_many_forms_of_every_kind() -> None:
    assert len(ROLES) * len(FACTS) >= 200
    for kind in KINDS:
        assert len({fact.statement for fact in FACTS if fact.kind == kind}) >= 3
    for fact in FACTS:
        assert "{role}" in fact.statement and "{value}" in fact.statement
        assert "{role}" in fact.recall and "{value}" not in fact.recall and not fact.recall.endswith(" ")


@pytest.mark.parametrize(("filler", "tokens"), [("manual", 500), ("code", 1000)])
def test_the_fact_is_early_the_others_late_and_nothing_between(
    filler: str, tokens: int, vocabulary: Vocabulary
) -> None:
    for item in FarFact(n=len(FACTS), tokens=tokens, filler=filler).items():
        text, (probe,) = item.text.decode(), item.probes
        assert item.mode == "continue" and item.subset == filler
        assert 0.9 * tokens < len(vocabulary.encode(text)) < 1.05 * tokens
        right, *wrong = (choice.removeprefix(" ") for choice in probe.choices)
        assert len(wrong) == 3 and probe.answer == right and len({right, *wrong}) == 4
        (statement,) = (part for part in text.split("\n\n") if right in part)
        assert text.count(right) == 1 and 0.03 * len(text) < text.index(statement) <= len(text) / 10
        assert [item.text[a:b].decode() for a, b in probe.evidence] == [statement]
        late = [value for value in wrong if value in text[len(text) * 9 // 10 :]]
        assert len(late) == 2 and all(text.count(value) == 1 for value in late)
        assert not set(wrong) - set(late) & set(text.split()) and len(set(wrong) - set(late)) == 1
        (role,) = (role for role in ROLES if role in probe.prompt)
        assert text.count(role) == 1
        assert role in statement and not any(word in probe.prompt for word in right.split())


def test_prompt_and_choice_are_tokenized_as_one(vocabulary: Vocabulary) -> None:
    for item in FarFact(n=len(FACTS), tokens=500).items():
        (probe,) = item.probes
        text = item.text.decode()
        assert not text[-1].isspace() and probe.prompt.startswith("\n\n")
        parts = [vocabulary.encode(part) for part in (text, probe.prompt, probe.choices[0])]
        assert np.array_equal(np.concatenate(parts), vocabulary.encode(text + probe.prompt + probe.choices[0]))


def test_the_seed_and_the_kinds_decide() -> None:
    made = list(FarFact(n=len(FACTS), tokens=500).items())
    assert made == list(FarFact(n=len(FACTS), tokens=500).items())
    assert len({item.text for item in made}) == len({item.id for item in made}) == len(FACTS)
    assert sorted(item.probes[0].tags["kind"] for item in made) == sorted(fact.kind for fact in FACTS)
    assert made[0].text != next(FarFact(tokens=500, seed=1).items()).text
    numbers = FarFact(n=4, tokens=500, kinds=("number",)).items()
    assert all(re.fullmatch(r"[1-9]\d{3}", item.probes[0].answer) for item in numbers)


def test_a_table_without_sentences_has_a_place_for_the_fact_too() -> None:
    rows = "\n".join(f"{i:03} 17" for i in range(200))  # 7 characters a row
    assert [rows[:end][-6:] for end in early(rows)] == [f"{i:03} 17" for i in range(8, 20)]
    words = " ".join(["word"] * 300)
    assert all(0.04 * len(words) <= end <= 0.1 * len(words) and words[end] == " " for end in early(words))
    assert early("x" * 1000) == [100]


def test_no_filler_knows_a_made_role() -> None:
    text = "\n".join(text for domain in ("manual", "code") for _, text in documents(domain)).lower()
    assert sum(role in text for role in ROLES) <= 3, "enough are left to draw from"


def test_right_is_the_lowest_mean_loss_of_a_token() -> None:
    probe = Probe("fact", choices=(" a", " b", " c", " d"), answer="a")
    item = Item("i", "manual", b"x", "continue", (probe,))

    def score(*nll: tuple[float, ...]) -> dict[str, float]:
        return FarFact().score(item, probe, Outcome(nll=nll))

    assert score((1.0, 3.0), (2.5,), (3.0,), (9.0,)) == {"correct": 1.0, "nll": 4.0, "tokens": 2.0}
    assert score((1.0, 3.0), (1.9,), (3.0,), (9.0,))["correct"] == 0.0
    assert score((2.0,), (2.0,), (3.0,), (9.0,))["correct"] == 0.0, "a reader that does not tell them apart"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 0}, "n=0: must be at least 1"),
        ({"tokens": 100}, "tokens=100: must be at least 500"),
        ({"kinds": ()}, "choose from name, number, place"),
        ({"kinds": ("names",)}, "did you mean 'name'"),
        ({"filler": "manuel"}, "did you mean 'manual'"),
        ({"split": "dew"}, "did you mean 'dev'"),
    ],
)
def test_impossible_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        FarFact(**settings)
