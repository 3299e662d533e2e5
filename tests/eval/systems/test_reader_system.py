"""Readers as systems: scores are what the LLM says, a deaf reader is as good as no context, and what is refused."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from eval import registry
from eval.schema import Item, Probe, Result
from eval.systems.base import Bench, System, build, parse_spec
from vtc.llm.frozen import FrozenLM
from vtc.readers.expand import ExpandReader
from vtc.readers.memory import Memory, MemoryReader
from vtc.readers.source import plain
from vtc.records.errors import UsageError

TEXT = "The wolf was there. The lamb went away to the river.\n" * 8
ASKED = Item(
    "book",
    "made",
    TEXT.encode(),
    "ask",
    (
        Probe("chosen", "Who was there?", (" the wolf", " a lamb", " no")),
        Probe("told", "Who went away?", new_tokens=9),
        Probe("again", "Who was there?", (" the wolf",)),
    ),
)
GOES_ON = Item(
    "tale", "made", TEXT.encode(), "continue", (Probe("next", "", (TEXT[:60],)), Probe("after", " So", (" on.",)))
)


@dataclass
class DeafReader(MemoryReader):
    """Claims to have read the document and has not."""

    name: ClassVar[str] = "deaf"
    ratio: float = 8.0

    def remember(self, opening: np.ndarray) -> Memory:
        cache = self.llm.prefill(opening)
        return Memory(cache, len(self.ids) / self.ratio, [(0, self.about["text_bytes"])])


@pytest.fixture
def bench(tiny: FrozenLM, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setitem(sys.modules, "deaf", sys.modules[__name__])
    monkeypatch.setitem(registry.ALL_READERS, "deaf", "deaf:DeafReader")
    monkeypatch.setitem(registry.READER_SYSTEMS, "deaf", "eval.systems.reader:ReaderSystem")
    bench = Bench(str(tiny_folder))
    bench.llm = tiny  # type: ignore[misc]
    return bench


def scores(result: Result) -> list[Any]:
    return [(outcome.text, outcome.nll) for outcome in result.outcomes]


@pytest.mark.parametrize("item", [ASKED, GOES_ON], ids=["ask", "continue"])
def test_a_reader_that_ignores_its_context_scores_as_no_context(bench: Bench, item: Item) -> None:
    deaf, none, text = (build(spec, "reader", bench).run(item) for spec in ("deaf", "none", "text"))
    assert scores(deaf) == scores(none) and scores(text) != scores(none)
    assert deaf.outcomes[0].positions == deaf.text_tokens / 8 and none.outcomes[0].positions == 1
    other = Item(item.id, item.subset, b"Something else entirely.", item.mode, item.probes)
    assert scores(build("deaf", "reader", bench).run(other)) == scores(deaf)
    assert scores(build("text", "reader", bench).run(other)) != scores(text)


def test_likelihoods_and_answers_are_those_of_the_whole_prompt(bench: Bench) -> None:
    llm = bench.llm
    result = build("text", "reader", bench).run(ASKED)
    assert result.refused == "" and result.text_tokens == len(TEXT) and result.prepare_seconds > 0
    for outcome, probe in zip(result.outcomes, ASKED.probes, strict=True):
        whole = llm.chat(f"Read this text.\n\n{TEXT}\n\nUsing the text above, answer briefly: {probe.prompt}")
        assert outcome.positions == len(TEXT) and outcome.seconds > 0 and len(outcome.nll) == len(probe.choices)
        for choice, losses in zip(probe.choices, outcome.nll, strict=True):
            expected = llm.nll(np.concatenate([whole, llm.vocabulary.encode(choice)]), len(whole))
            assert losses == pytest.approx(expected.tolist(), abs=1e-4)
        if not probe.choices:
            assert outcome.text == b"".join(llm.generate(whole, 9)).decode(errors="replace").strip()
    assert result.outcomes[0].nll[0] == result.outcomes[2].nll[0], "an earlier probe left something behind"


def test_going_on_is_scored_after_the_text(bench: Bench) -> None:
    llm = bench.llm
    result = build("truncate:ratio=4,keep=first", "reader", bench).run(GOES_ON)
    held = np.concatenate([[llm.start], llm.vocabulary.encode(TEXT[: round(len(TEXT) / 4)])])
    for outcome, after, skipped in zip(result.outcomes, (TEXT[:60], " So on."), (1, 3), strict=True):
        expected = llm.nll(np.concatenate([held, llm.vocabulary.encode(after)]), len(held) + skipped)
        assert outcome.nll[0] == pytest.approx(expected.tolist(), abs=1e-4)


def test_a_reader_that_needs_a_question_refuses_to_go_on(bench: Bench) -> None:
    assert "needs a question" in build("expand", "reader", bench).run(GOES_ON).refused


def test_what_a_reader_finds_by_the_question_is_what_is_read(bench: Bench) -> None:
    llm = bench.llm
    outcome = build("expand:tokens=40,passage_bytes=64", "reader", bench).run(ASKED).outcomes[0]
    assert outcome.positions is not None and 0 < outcome.positions < 100
    reader = ExpandReader(llm, tokens=40, passage_bytes=64)
    reader.prepare(plain(ASKED.text, llm)[1], {"text_bytes": len(ASKED.text)})
    given = reader.context("Who was there?", 32).prompt
    expected = llm.nll(np.concatenate([given, llm.vocabulary.encode(" the wolf")]), len(given))
    assert outcome.nll[0] == pytest.approx(expected.tolist(), abs=1e-4)


@pytest.mark.parametrize(
    ("text", "probe", "message"),
    [
        (TEXT * 4, Probe("q", "Who?", (" a",)), "takes .* window of tiny is 1200"),
        (TEXT, Probe("q", "Who? " * 200, (" a",)), "a question of .* window of tiny"),
        (TEXT, Probe("q", "Who?", (" a" * 500,)), "tokens exceed the window of tiny"),
        (TEXT, Probe("q", "Who?", ("",)), "too short to score"),
        ("", Probe("q", "Who?"), "book: is empty"),
    ],
    ids=["document", "question", "choice", "nothing to score", "no text"],
)
def test_items_that_are_refused_and_do_no_harm(bench: Bench, text: str, probe: Probe, message: str) -> None:
    system = build("text", "reader", bench)
    result = system.run(Item("book", "made", text.encode(), "ask", (probe,)))
    assert result.outcomes == () and result.text_tokens == len(text)
    assert re.search(message, result.refused)
    assert scores(system.run(ASKED)) == scores(build("text", "reader", bench).run(ASKED))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("text", ("text", {})),
        ("truncate:ratio=8", ("truncate", {"ratio": 8})),
        ("a:x=1.5, y=yes,z=last,", ("a", {"x": 1.5, "y": True, "z": "last"})),
        ("a:x=b=c", ("a", {"x": "b=c"})),
    ],
)
def test_specs(spec: str, expected: tuple[str, dict[str, Any]]) -> None:
    assert parse_spec(spec) == expected


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "names no system"),
        (":ratio=8", "names no system"),
        ("truncate:8", "'8' is no option; write truncate:key=value"),
        ("truncate:=8", "'=8' is no option"),
        ("truncate:ratio=[", "the value of 'ratio' is not YAML"),
        ("trunkate", "did you mean 'truncate'"),
        ("truncate:ratoi=8", "unknown option of reader 'truncate' 'ratoi'; did you mean 'ratio'"),
        ("truncate:llm=x", "unknown option of reader 'truncate' 'llm'"),
        ("truncate:_kept=1", "unknown option"),
        ("truncate:ratio=much", "ratio=much: reader 'truncate' wants float"),
        ("truncate:ratio=true", "ratio=True: reader 'truncate' wants float"),
        ("spread:stretch=1.5", "stretch=1.5: reader 'spread' wants int"),
        ("truncate:ratio=0.5", "ratio=0.5: must be at least 1"),
    ],
)
def test_specs_that_cannot_be(bench: Bench, spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("[", r"\[")):
        build(spec, "reader", bench)


def test_a_system_that_holds_nothing_is_closed_by_doing_nothing(bench: Bench) -> None:
    system: System = build("none", "reader", bench)
    system.close()
    assert scores(system.run(ASKED)) == scores(build("none", "reader", bench).run(ASKED))
