"""The bare page: what stands around the answer, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eval.baselines.page import around
from eval.schema import Item, Probe
from eval.systems.base import Bench, build
from eval.systems.reader import ReaderSystem
from eval.tasks.far_fact import FarFact
from eval.tasks.needle import Needle
from eval.tasks.two_pages import TwoPages
from vtc.llm.frozen import FrozenLM
from vtc.llm.vocabulary import Vocabulary
from vtc.records.errors import UsageError

WORDS = [f"w{i}é" for i in range(1000, 3000)]
TEXT = " ".join(WORDS).encode()
SIZE = len(WORDS[0].encode())


@settings(deadline=None, max_examples=40)
@example([0], 300)
@example([1999], 300)
@given(st.lists(st.integers(0, 1999), min_size=1, max_size=3, unique=True), st.integers(40, 900))
def test_a_page_is_whole_words_around_the_evidence(vocabulary: Vocabulary, numbers: list[int], tokens: int) -> None:
    evidence = [(number * (SIZE + 1), number * (SIZE + 1) + SIZE) for number in sorted(numbers)]
    found = around(TEXT, evidence, tokens, vocabulary)
    held = [TEXT[a:b].decode() for a, b in found]
    assert all(word in WORDS for part in held for word in part.split())
    assert all(any(a <= start and stop <= b for a, b in found) for start, stop in evidence)
    assert all(before[1] < after[0] for before, after in zip(found, found[1:], strict=False)), "what meets is one"
    count = sum(len(vocabulary.encode(part)) for part in held)
    assert count <= tokens + 20 * len(found)
    if len(evidence) == 1:
        assert count >= tokens - 20, "an end of the text gives its share to the other side"
        middle = (evidence[0][0] - found[0][0]) - (found[0][1] - evidence[0][1])
        assert abs(middle) < 20 * SIZE or found[0][0] == 0 or found[0][1] == len(TEXT)


def test_a_short_text_is_its_own_page(vocabulary: Vocabulary) -> None:
    assert around(TEXT[:95], [(8, 15)], 640, vocabulary) == [(0, 95)]
    assert around(TEXT, [(800, 807)], 1, vocabulary) == [(800, 807)], "the evidence is there whatever the room"


def test_a_page_answers_far_beyond_the_window(llm: FrozenLM) -> None:
    bench = Bench()
    bench.llm = llm  # type: ignore[misc]
    task = Needle(lengths=(12_000,), depths=(0.3, 0.8), kinds=("digits",), needles=2)
    item = next(task.items())
    found = build("page:tokens=200", "reader", bench).run(item)
    assert found.refused == "" and found.text_tokens == len(bench.vocabulary.encode(item.text.decode()))
    assert len(found.outcomes) == len(item.probes) == 2
    for probe, outcome in zip(item.probes, found.outcomes, strict=True):
        assert outcome.positions == pytest.approx(200, abs=12)
        assert task.score(item, probe, outcome)["correct"] == 1.0
    assert build("text", "reader", bench).run(item).refused


@pytest.fixture
def bench(tiny: FrozenLM, tiny_folder: Path) -> Bench:
    bench = Bench(str(tiny_folder))
    bench.llm = tiny  # type: ignore[misc]
    return bench


def test_a_page_is_read_as_a_text_of_its_own_would_be(bench: Bench) -> None:
    """Also with two places, in the text's order, and for a text that goes on; a token is a byte here."""
    both = next(TwoPages(lengths=(1500,), kinds=("chain",), n=1).items())
    fact = next(FarFact(n=1, tokens=500).items())
    for item in (replace(both, probes=both.probes[1:]), fact):
        evidence = sorted(item.probes[0].evidence)
        pages = around(item.text, evidence, 300, bench.vocabulary)
        assert len(pages) == len(evidence)
        text = b"\n\n".join(item.text[a:b].strip() for a, b in pages)
        alone = ReaderSystem(bench, "text").run(replace(item, text=text)).outcomes[0]
        found = build("page:tokens=300", "reader", bench).run(item).outcomes[0]
        assert (found.text, found.nll, found.positions) == (alone.text, alone.nll, alone.positions)


def test_without_evidence_it_refuses(bench: Bench) -> None:
    item = Item("i", "s", b"The wolf met the lamb.", "ask", (Probe("q", "Who?", answer="wolf"),))
    found = build("page", "reader", bench).run(item)
    assert "does not say where" in found.refused and not found.outcomes and found.text_tokens == 22


@pytest.mark.parametrize("spec", ["page:tokens=0", "page:tokens=x", "page:ratio=8", "page:tokens=true"])
def test_impossible_options_are_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="takes one option, tokens"):
        build(spec, "reader", Bench())
