"""The reader `expand`: what it finds, what it gives to the model, and what it refuses."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vtc.readers.base import Page
from vtc.readers.expand import ExpandReader
from vtc.readers.source import plain
from vtc.records.errors import UsageError

LINES = [f"Line {i} says that the wolf number {i * 7919 % 1000} was there.\n" for i in range(400)]
NEEDLE = "The secret melody is called Aurora.\n"
QUESTION = "What is the secret melody called?"


def prepared(llm: Any, text: str, **options: Any) -> ExpandReader:
    reader = ExpandReader(llm, **options)
    reader.prepare(plain(text.encode(), llm)[1], {"text_bytes": len(text.encode())}, "book.txt")
    return reader


def asked(llm: Any, question: str) -> int:
    """Tokens of the same turn without a document."""
    turn = f"Read this text.\n\n|\n\nUsing the text above, answer briefly: {question}"
    return sum(map(len, llm.chat_around(*turn.split("|"))))


@pytest.mark.parametrize("place", [0, 137, 400])
def test_the_best_passage_stands_last_and_its_page_is_named(echo: Any, place: int) -> None:
    text = "".join([*LINES[:place], NEEDLE, *LINES[place:]])
    reader = prepared(echo, text, passage_bytes=100, tokens=300, pages=5)
    record = reader.ask(QUESTION, max_new_tokens=2000)
    assert (
        record["answer"].endswith(f"\n\nUsing the text above, answer briefly: {QUESTION}>")
        and NEEDLE.strip() in record["answer"]
    )
    best = record["passages"][-1]
    assert NEEDLE.strip() in text[best["start"] : best["stop"]]
    tokens_before = len(echo.vocabulary.encode(text[: best["start"]]))
    assert tokens_before // 1024 + 1 in best["pages"] and set(best["pages"]) <= set(record["pages_read"])


def test_passages_are_given_by_rank_or_as_they_stand_in_the_text(echo: Any) -> None:
    lines = [*LINES]
    lines[10] = "The melody, the secret melody: Borealis, which is called so.\n"
    lines[300] = "A melody was heard.\n"
    text = "".join(lines)
    spans = {}
    for order in ("rank", "text"):
        reader = prepared(echo, text, passage_bytes=64, tokens=200, order=order)
        context = reader.context("secret melody", 10)
        spans[order] = context.spans
        parts = [text.encode()[a:b].strip() for a, b in context.spans]
        assert b"text.\n\n" + b"\n\n".join(parts) + b"\n\nUsing" in echo.vocabulary.decode(context.prompt)
    assert spans["text"] == sorted(spans["rank"]) and spans["text"] != spans["rank"]
    best, second = spans["rank"][-1], spans["rank"][-2]
    assert "Borealis" in text[slice(*best)] and "heard" in text[slice(*second)]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(window=st.integers(240, 900), tokens=st.integers(1, 1200), pages=st.integers(1, 4), answer=st.integers(1, 40))
def test_limits_hold(echo: Any, window: int, tokens: int, pages: int, answer: int) -> None:
    echo.window = window
    reader = prepared(echo, "".join(LINES), passage_bytes=64, tokens=tokens, pages=pages)
    context = reader.context("wolf number 500", answer)
    given_alone = sum(len(echo.vocabulary.encode("".join(LINES)[a:b])) for a, b in context.spans)
    numbers = {number for span in context.spans for number in reader.pages_of(*span)}
    assert len(context.prompt) + answer <= window
    assert context.positions == len(context.prompt) - asked(echo, "wolf number 500") and context.cache is None
    assert len(context.spans) == 1 or (given_alone <= tokens and len(numbers) <= pages)


def test_more_room_means_more_passages(echo: Any) -> None:
    readers = [prepared(echo, "".join(LINES), passage_bytes=64, tokens=n, pages=99) for n in (50, 500, 2000)]
    counts = [len(reader.context("wolf", 9).spans) for reader in readers]
    assert counts[0] == 1 and counts[0] < counts[1] < counts[2]


def test_passages_come_from_as_many_pages_as_asked(echo: Any) -> None:
    text = "".join(line + (f"A melody, number {i}.\n" if i % 60 == 0 else "") for i, line in enumerate(LINES))
    for pages in (1, 2, 4):
        reader = prepared(echo, text, passage_bytes=64, tokens=3000, pages=pages)
        assert len(reader.ask("melody", max_new_tokens=1)["pages_read"]) == pages


def test_without_a_common_word_a_long_text_is_refused_and_a_short_one_read_whole(echo: Any) -> None:
    with pytest.raises(UsageError, match=r"book\.txt: no passage shares a word"):
        prepared(echo, "".join(LINES)).ask("狼在哪里?")
    short = "Linie eins.\n\nLinie zwei.\n"
    record = prepared(echo, short, passage_bytes=64).ask("狼在哪里?")
    assert "Linie eins.\n\nLinie zwei." in record["answer"] and record["pages_read"] == [1]


def test_a_long_question_is_refused_with_the_numbers(echo: Any) -> None:
    echo.window = 300
    reader = prepared(echo, "".join(LINES))
    for question, answer in (("wolf " * 100, 128), ("w" * 18, 300), ("w" * 18, 300 - asked(echo, "w" * 18))):
        message = f"takes {asked(echo, question)} tokens and its answer up to {answer}, .* window of echo is 300"
        with pytest.raises(UsageError, match=message):
            reader.ask(question, max_new_tokens=answer)
    room = 300 - asked(echo, "wolf number 500") - 190
    with pytest.raises(UsageError, match=rf"the best passage takes \d+ tokens .*\(300\) leaves {room}"):
        reader.ask("wolf number 500", max_new_tokens=190)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pages": 0}, "--pages 0: must be at least 1"),
        ({"tokens": 0}, "--tokens 0"),
        ({"passage_bytes": 9}, "--passage-bytes 9: must be at least 64"),
        ({"order": "rang"}, "--order rang: choose rank or text"),
    ],
)
def test_options_that_cannot_be(echo: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ExpandReader(echo, **options)


@pytest.mark.parametrize("text", [b"\x00\xff\xfe" * 2000, b"a" * 100_000, b" \n" * 5000, "狼".encode() * 20_000])
def test_texts_without_sense_do_no_harm(echo: Any, text: bytes) -> None:
    reader = ExpandReader(echo)
    reader.prepare(plain(text, echo)[1], {"text_bytes": len(text)})
    with pytest.raises(UsageError, match="no passage shares a word"):
        reader.ask("Who is the wolf?")
    if text[:1] == b"a":
        assert reader.ask("a" * 300)["positions"] > 0  # the word that fills a passage


def test_a_new_document_replaces_the_old_one(echo: Any, byte_level: ModuleType) -> None:
    reader = prepared(echo, "".join(LINES))
    reader.prepare([Page(NEEDLE.encode(), echo.vocabulary.encode(NEEDLE))], {"text_bytes": len(NEEDLE)})
    record = reader.ask(QUESTION)
    assert record["passages"] == [{"pages": [1], "start": 0, "stop": len(NEEDLE)}]
    assert record["answer"].startswith(f"<Read this text.\n\n{NEEDLE.strip()}\n\nUsing")
