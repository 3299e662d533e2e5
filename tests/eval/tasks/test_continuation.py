"""Documents with the text that follows them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eval.bootstrap import estimates
from eval.data import data_dir
from eval.schema import Item, Outcome, Probe, Sample
from eval.systems.base import Bench
from eval.systems.framing import framed
from eval.tasks.continuation import Continuation
from eval.tasks.continuation.documents import split
from eval.tasks.filler import documents
from vtc.llm.frozen import FrozenLM
from vtc.llm.vocabulary import Vocabulary
from vtc.records.errors import UsageError

needs_data = pytest.mark.skipif(
    not (data_dir() / "fox_en.jsonl.gz").is_file(),
    reason="no evaluation texts: name their directory in VTC_DATA (from dududuck00/DeepSeekOCR)",
)
HERE = ("manual", "code")


def check(item: Item, words: Vocabulary, tokens: int) -> None:
    """The parts are one text again, in bytes and in tokens."""
    document, (held_out,) = item.text.decode(), item.probes[0].choices
    assert item.mode == "continue" and item.probes[0].prompt == "" and len(item.probes) == 1
    assert not document[-1].isspace() and held_out[0] == " " and held_out[1].isalpha()
    parts = [words.encode(document), words.encode(held_out)]
    assert np.array_equal(np.concatenate(parts), words.encode(document + held_out))
    assert len(parts[0]) <= tokens + 1
    assert len(parts[1]) >= 65, "64 beside the first, which systems read and do not score"
    whole = " ".join((document + held_out).split())
    name = item.id.split("-")[1]
    assert any(whole in " ".join(text.split()) for key, text in documents(item.subset) if key.startswith(name))


def test_two_parts_are_tokenized_as_one(vocabulary: Vocabulary) -> None:
    items = list(Continuation(n=3, tokens=300, domains=HERE).items())
    assert [item.subset for item in items] == ["manual"] * 3 + ["code"] * 3
    assert len({item.id for item in items}) == 6 and len({item.text for item in items}) == 6
    for item in items:
        check(item, vocabulary, 300)


@needs_data
def test_all_domains(vocabulary: Vocabulary) -> None:
    items = list(Continuation(n=2).items())
    assert [item.subset for item in items] == [name for name in ("prose", "manual", "code", "fox") for _ in range(2)]
    for item in items:
        check(item, vocabulary, 1000)
        assert len(vocabulary.encode(item.text.decode())) > 450


def test_the_seed_draws_and_stretches_do_not_overlap() -> None:
    def made(**settings: int) -> list[tuple[str, bytes]]:
        return [(item.id, item.text) for item in Continuation(domains=("manual",), tokens=1500, **settings).items()]

    assert made(n=4) == made(n=4) != made(n=4, seed=1)
    every = made(n=10_000)
    assert len(every) > 30 and set(made(n=4)) <= set(every)
    texts = dict(documents("manual"))
    end: dict[str, int] = {}
    for name, text in every:
        topic = name.removeprefix("manual-").rsplit("-", 2)[0]
        start = texts[topic].index(text.decode())
        assert start >= end.get(topic, 0)
        end[topic] = start + len(text.decode())


def test_a_split_is_before_a_word_and_leaves_enough(vocabulary: Vocabulary) -> None:
    text = "alpha beta 12 34 56"
    assert split(text, 5, vocabulary) == ("alpha", " beta 12 34 56"), "not before a number"
    with pytest.raises(UsageError, match="can not be split"):
        split("12 34 56", 2, vocabulary)


def test_measures_and_metrics_by_hand() -> None:
    task = Continuation()
    item = Item("i", "s", b"x", "continue", (Probe("next", choices=(" y z",)),))

    def rows(name: str, losses: list[tuple[float, ...]]) -> list[Sample]:
        measures = [task.score(item, item.probes[0], Outcome(nll=(found,))) for found in losses]
        common = ("", "", "", 1, 1, None, None, None, 0.0, 0.0)
        return [Sample("t", name, f"i{i}", "s", "p", {}, found, *common) for i, found in enumerate(measures)]

    assert task.score(item, item.probes[0], Outcome(nll=((1.0, 2.5),))) == {"nll": 3.5, "tokens": 2.0}
    controls = {"none": rows("none", [(4.0, 4.0), (2.0,)]), "text": rows("text", [(1.0, 1.0), (1.0,)])}
    found = estimates(task.metrics, rows("own", [(2.0, 3.0), (1.0,)]), controls)
    assert found["context_recovery"].value == pytest.approx((10 - 6) / (10 - 3))
    assert found["perplexity"].value == pytest.approx(math.exp(6 / 3)) and not found["perplexity"].higher_is_better


def test_what_is_scored_is_what_the_model_says_of_the_whole(llm: FrozenLM) -> None:
    """The loss after a prepared document equals that of the text read in one piece."""
    from eval.systems.reader import ReaderSystem

    (item,) = Continuation(n=1, tokens=120, next_tokens=16, domains=("manual",)).items()
    bench = Bench()
    bench.__dict__["llm"] = llm
    outcome = ReaderSystem(bench, "text", {}).run(item).outcomes[0]
    document, held_out = (llm.vocabulary.encode(part) for part in (item.text.decode(), item.probes[0].choices[0]))
    whole = llm.nll(np.concatenate([[llm.start], document, held_out]), 1 + len(document) + 1)
    measures = Continuation().score(item, item.probes[0], outcome)
    assert measures["tokens"] == len(held_out) - 1 == len(framed(llm, item, item.probes[0]).choices[0])
    assert measures["nll"] == pytest.approx(float(whole.sum()), rel=1e-4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n": 0}, "n=0: must be at least 1"),
        ({"tokens": 3}, "tokens=3: must be at least 16"),
        ({"next_tokens": 0}, "next_tokens=0"),
        ({"domains": ()}, "choose from prose, manual"),
        ({"domains": ("cod",)}, "did you mean 'code'"),
    ],
)
def test_impossible_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Continuation(**settings)


def test_a_domain_without_a_text_of_this_length_is_named() -> None:
    with pytest.raises(UsageError, match="no text of the domain manual is so long"):
        next(Continuation(tokens=10**6, domains=("manual",)).items())
