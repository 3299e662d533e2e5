"""Readers that read a document once: what they keep, how often they read, and what they refuse."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vtc.llm.frozen import FrozenLM
from vtc.readers.memory import Memory, MemoryReader, key_of
from vtc.readers.source import plain
from vtc.readers.text import TextReader
from vtc.records.errors import UsageError

TEXT = "The wolf was there. \N{PILE OF POO} The lamb went away.\n" * 6
QUESTIONS = ("Where is the lamb?", "Who?", "Where is the lamb?")


@dataclass
class Middle(MemoryReader):
    """Remembers ids 10 to 20."""

    name: ClassVar[str] = "middle"

    def remember(self, opening: np.ndarray) -> Memory:
        return self.remember_ids(opening, self.ids[10:20], [self.span(10, 20)])


@pytest.fixture(scope="module")
def tiny(tiny_folder: Path) -> FrozenLM:
    return FrozenLM.load(tiny_folder, device="cpu")


def prepared(kind: type[MemoryReader], llm: Any, text: str = TEXT) -> MemoryReader:
    reader = kind(llm)
    reader.prepare(plain(text.encode(), llm)[1], {"text_bytes": len(text.encode())}, "a.txt")
    return reader


def state(cache: Any) -> tuple[int, list[bytes]]:
    """Everything that a cache knows: tokens seen, and the bytes of keys and values of each layer."""
    tensors = [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]
    return cache.get_seq_length(), [tensor.contiguous().numpy().tobytes() for tensor in tensors]


@pytest.mark.parametrize("kind", [TextReader, Middle])
def test_a_document_is_read_once_and_asked_often(
    tiny: FrozenLM, kind: type[MemoryReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    prefill = tiny.prefill
    monkeypatch.setattr(tiny, "prefill", lambda ids: (reads.append(len(ids)), prefill(ids))[1])
    reader = prepared(kind, tiny)
    assert reads == []
    fresh = [prepared(kind, tiny).ask(question, max_new_tokens=8)["answer"] for question in QUESTIONS]
    reads.clear()
    cache = reader.context("Who?", 8).cache
    before = state(cache)
    assert [reader.ask(question, max_new_tokens=8)["answer"] for question in QUESTIONS] == fresh
    assert reads == [len(reader.around("")[0]) + (10 if kind is Middle else len(reader.ids))]
    assert reader.context("Who?", 8).cache is cache and state(cache) == before
    reader.prepare(plain(b"Another text, long enough.", tiny)[1], {"text_bytes": 26})
    assert reader.context("Who?", 8).cache is not cache and len(reads) == 2


def test_cache_and_prompt_are_the_turn_with_what_was_kept(tiny: FrozenLM) -> None:
    reader = prepared(Middle, tiny)
    context = reader.context("Who?", 8)
    whole = tiny.chat(f"Read this text.\n\n{TEXT[10:20]}\n\nUsing the text above, answer briefly: Who?")
    held = context.cache.get_seq_length()
    assert context.prompt.tolist() == whole[held:].tolist() and context.positions == 10
    assert list(tiny.generate(context.prompt, 9, context.cache)) == list(tiny.generate(whole, 9))
    assert state(context.cache) == state(tiny.prefill(whole[:held]))


def test_going_on_with_the_text(tiny: FrozenLM) -> None:
    reader = prepared(Middle, tiny)
    context = reader.continuation()
    ids = np.array([tiny.start, *tiny.vocabulary.encode(TEXT[10:20])])
    assert len(context.prompt) == 0 and (context.positions, context.spans) == (10, [(10, 20)])
    next_ids = tiny.vocabulary.encode("and so on")
    (losses,) = tiny.choices_nll(next_ids[:1], [next_ids[1:]], context.cache)
    expected = tiny.nll(np.concatenate([ids, next_ids]), len(ids) + 1)
    torch.testing.assert_close(losses, expected, rtol=1e-4, atol=1e-4)
    assert reader.continuation().cache is context.cache
    other = reader.continuation(np.array([65, 66, 67], np.int32))
    assert state(other.cache) == state(tiny.prefill([65, 66, 67, *ids[1:]])) and other.positions == 10
    reader.context("Who?", 8)
    assert state(reader.continuation().cache) == state(context.cache)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet="the an é漢\N{PILE OF POO}", min_size=1, max_size=60), data=st.data())
def test_spans_are_the_bytes_that_ids_stand_for(echo: Any, text: str, data: st.DataObject) -> None:
    reader = prepared(Middle, echo, text)
    first = data.draw(st.integers(0, len(reader.ids)))
    last = data.draw(st.integers(first, len(reader.ids)))
    start, stop = reader.span(first, last)
    assert start == len(echo.vocabulary.decode(reader.ids[:first]))
    assert text.encode()[start:stop] == echo.vocabulary.decode(reader.ids[first:last])


def test_what_does_not_fit_is_refused_with_the_numbers(echo: Any) -> None:
    reader = prepared(Middle, echo)
    opening, closing = (len(ids) for ids in reader.around("Who?"))
    echo.window = opening + 10 + closing + 5
    assert reader.ask("Who?", max_new_tokens=5)["positions"] == 10
    message = (
        rf"a\.txt: what was read, a question of {closing} tokens .* window of echo \({echo.window}\); use .*expand"
    )
    with pytest.raises(UsageError, match=message):
        reader.ask("Who?", max_new_tokens=6)
    for window in (opening + 9, opening + 10):
        echo.window = window
        with pytest.raises(UsageError, match=rf"a\.txt: takes {opening + 10} tokens .* echo is {window}; use .*expand"):
            prepared(Middle, echo).ask("Who?", max_new_tokens=1)
    assert len(echo.reads) == 1, "what can not be used was read"


def test_a_refused_question_leaves_the_document_ready(echo: Any) -> None:
    reader = prepared(Middle, echo)
    echo.window = 200
    with pytest.raises(UsageError, match="a question of"):
        reader.ask("Who? " * 50)
    assert reader.ask("Who?", max_new_tokens=3)["answer_tokens"] == 3 and len(echo.reads) == 1


def test_a_memory_can_be_given_instead_of_computed(tiny: FrozenLM) -> None:
    made = prepared(Middle, tiny)
    opening, _ = tiny.chat_around("Read this text.\n\n", "")
    kept, pages = made.memory(opening), plain(TEXT.encode(), tiny)[1]
    given, asked = Middle(tiny), []

    def read() -> Any:
        asked.append(len(pages))
        return iter(pages)

    facts: dict[str, Any] = {"tokens": 300, "ends": np.array([100, len(TEXT.encode())]), "about": {"text_bytes": 5}}
    given.recall(kept, key_of(opening), read, **facts, title="b.txt")
    for question in QUESTIONS:
        found, expected = (reader.ask(question, max_new_tokens=6) for reader in (given, made))
        assert (found["answer"], found["passages"][0]["start"]) == (expected["answer"], 10)
        assert (found["text_bytes"], found["position_ratio"], found["pages_read"]) == (5, 300 / 10, [1])
    assert given.context("Who?", 4).cache is kept.cache and asked == []
    other = np.array([65, 66, 67], np.int32)
    for _ in range(2):  # the pages are asked for once
        assert state(given.continuation(other).cache) == state(made.continuation(other).cache)
        assert given.memory(opening) is not kept and asked == [len(pages)]
    given.prepare(pages, {"text_bytes": 7}, "c.txt")
    assert given.ask("Who?", max_new_tokens=2)["text_bytes"] == 7 and asked == [len(pages)]


def test_only_readers_with_bytes_of_their_own_can_be_stored(tiny: FrozenLM) -> None:
    reader = prepared(Middle, tiny)
    for use in (
        lambda: reader.packed(reader.memory(np.array([65], np.int32)), "float16"),
        lambda: reader.unpacked(b""),
    ):
        with pytest.raises(UsageError, match="reader 'middle' keeps nothing that a document can hold; use --reader kv"):
            use()
