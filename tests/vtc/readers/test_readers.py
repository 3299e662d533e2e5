"""What all readers share, and the reader `text`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vtc.llm.frozen import FrozenLM
from vtc.readers.base import Page
from vtc.readers.expand import ExpandReader
from vtc.readers.source import plain
from vtc.readers.text import TextReader
from vtc.records.errors import UsageError

TEXT = "The wolf was there. \N{PILE OF POO} The lamb went away.\n" * 20


def prepared(llm: Any, text: str = TEXT) -> TextReader:
    reader = TextReader(llm)
    reader.prepare(plain(text.encode(), llm)[1], {"text_bytes": len(text.encode()), "codec": "none"}, "a.txt")
    return reader


def turn(text: str, question: str) -> str:
    return f"Read this text.\n\n{text}\n\nUsing the text above, answer briefly: {question}"


def around(llm: Any, question: str) -> tuple[np.ndarray, np.ndarray]:
    before, after = turn("|", question).split("|")
    return llm.chat_around(before, after)


def test_the_text_reader_gives_all_of_the_text(echo: Any) -> None:
    pieces: list[str] = []
    record = prepared(echo).ask("Where is the lamb?", max_new_tokens=5000, on_text=pieces.append)
    assert record["answer"] == "".join(pieces) == f"<{turn(TEXT, 'Where is the lamb?')}>"
    assert len(pieces) > 500  # as it arrives, not at the end
    prompts = (record["answer"], f"<{turn('', 'Where is the lamb?')}>")
    with_text, without = (len(echo.vocabulary.encode(prompt)) for prompt in prompts)
    assert record["positions"] == with_text - without == len(echo.vocabulary.encode(TEXT))
    assert record["position_ratio"] == 1
    assert record["passages"] == [{"pages": [1], "start": 0, "stop": len(TEXT.encode())}]
    assert (record["reader"], record["codec"], record["answer_tokens"]) == ("text", "none", with_text)
    assert 0 <= record["first_token_seconds"] <= record["seconds"]


def test_an_answer_that_is_cut_inside_a_character(echo: Any) -> None:
    pieces: list[str] = []
    record = prepared(echo, "é").ask("?", max_new_tokens=18, on_text=pieces.append)
    assert record["answer"] == "".join(pieces) == "<Read this text.\n\n\N{REPLACEMENT CHARACTER}"


def test_a_text_longer_than_the_window_is_refused_with_the_numbers(echo: Any) -> None:
    tokens = len(echo.vocabulary.encode(TEXT))
    echo.window = tokens
    with pytest.raises(UsageError, match=f"a.txt: takes {tokens} tokens and the window of echo is {tokens}; .*expand"):
        prepared(echo)
    question = "Where is it?"
    opening, closing = (len(ids) for ids in around(echo, question))
    echo.window = opening + tokens + closing + 9
    reader = prepared(echo)
    assert reader.ask(question, max_new_tokens=9)["positions"] == tokens
    with pytest.raises(UsageError, match=rf"a question of {closing} tokens .* echo \({echo.window}\); .*expand"):
        reader.ask(question, max_new_tokens=10)
    echo.window = opening + tokens
    with pytest.raises(UsageError, match=f"takes {opening + tokens} tokens .* echo is {opening + tokens}; .*expand"):
        prepared(echo).ask(question, max_new_tokens=1)


def test_a_document_known_to_be_too_long_is_refused_undecoded(echo: Any) -> None:
    echo.window = 50
    about = {"text_bytes": 9, "text_tokens": 51, "vocabulary_hash": echo.vocabulary.hash}
    with pytest.raises(UsageError, match="takes 51 tokens"):
        TextReader(echo).prepare((pytest.fail("decoded") for _ in range(1)), about)


@pytest.mark.parametrize("question", ["", " \n\t"])
def test_an_empty_question_or_text_or_answer(echo: Any, question: str) -> None:
    with pytest.raises(UsageError, match="the question is empty"):
        prepared(echo).ask(question)
    with pytest.raises(UsageError, match="a.txt: is empty"):
        prepared(echo, "")
    with pytest.raises(UsageError, match="--max-tokens 0"):
        prepared(echo).ask("Who?", max_new_tokens=0)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=8), data=st.data())
def test_pages_of_bytes(echo: Any, sizes: list[int], data: st.DataObject) -> None:
    reader = TextReader(echo)
    reader.prepare([Page(b"x" * size, np.zeros(1, np.int32)) for size in sizes], {"text_bytes": sum(sizes)})
    owner = [number for number, size in enumerate(sizes, 1) for _ in range(size)]
    start = data.draw(st.integers(0, len(owner) - 1))
    stop = data.draw(st.integers(start + 1, len(owner)))
    assert reader.pages_of(start, stop) == sorted(set(owner[start:stop]))


@pytest.mark.parametrize("kind", [TextReader, ExpandReader])
def test_a_real_model_answers_within_its_window_and_stays_as_it_was(kind: type, tiny_folder: Any) -> None:
    llm = FrozenLM.load(tiny_folder, device="cpu")
    before = llm.fingerprint()
    reader = kind(llm)
    reader.prepare(plain(TEXT.encode()[:900], llm)[1], {"text_bytes": 900})
    record, again = (reader.ask("Where is the lamb?", max_new_tokens=12) for _ in range(2))
    assert record["answer"] == again["answer"] and 0 < record["answer_tokens"] <= 12
    assert 0 < record["positions"] <= 900 and llm.fingerprint() == before
