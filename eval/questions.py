"""Questions about a document, answered by the frozen LLM in three ways, so that finding, reading and knowing are told
apart: from the compressed document, from the right page as plain text, and from nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vtc import api

ANSWER_TOKENS = 32


@dataclass(frozen=True)
class Question:
    """A question, and where and what its answer is, if that is known."""

    text: str
    phrase: str | None = None
    """Regular expression of words in the sentence that holds the answer; a space stands for any whitespace."""
    answer: str | None = None
    """What a right answer contains."""


TOPICS = (
    Question("What is the title of PEP 3132?", r"\*\*PEP 3132\*\*", "Extended Iterable Unpacking"),
    Question("What is the debugger's prompt?", r"debugger.s prompt is", "Pdb"),
    Question("What does an imaginary literal yield?", "An imaginary literal yields", "complex number"),
    Question("What do numeric literals not include?", "numeric literals do not include", "sign"),
    Question("Which environment variable concerns hash randomization?", '"PYTHONHASHSEED"', "PYTHONHASHSEED"),
)
"""About CPython's `pydoc_data.topics`; the first three whose sentence this Python's topics hold are asked."""


@dataclass(frozen=True)
class Source:
    """The sentence that holds an answer."""

    sentence: str
    pages: tuple[int, int]
    """First and last that it stands on, counted from 1."""


@dataclass(frozen=True)
class Answered:
    """What came of one question. Records are those of `vtc.api.ask`."""

    question: Question
    source: Source | None
    """None where nobody said where the answer is."""
    document: dict[str, Any]
    """From the compressed document."""
    page: dict[str, Any]
    """From the source's page as plain text, or from the page that was found best."""
    pages: tuple[int, int]
    """That page, or first and last where the sentence runs on."""
    nothing: str
    """The answer without any text."""

    def right(self, answer: str) -> bool | None:
        """Whether an answer holds what is expected, in any case and spacing; None where nobody knows."""
        if self.question.answer is None:
            return None
        return " ".join(self.question.answer.split()).casefold() in " ".join(answer.split()).casefold()


def choose(text: str, questions: Sequence[Question], count: int = 3) -> list[Question]:
    """The first `count` questions whose sentence the text holds, or that name none."""
    return [q for q in questions if q.phrase is None or find(text, q.phrase)][:count]


def find(text: str, phrase: str) -> tuple[int, int] | None:
    """Where the sentence or list item around a phrase begins and ends, in characters."""
    match = re.search(phrase.replace(" ", r"\s+"), text)
    if match is None:
        return None
    start = max((m.end() for m in re.finditer(r"[.!?:]\s+|\n\s*\n", text[: match.start()])), default=0)
    end = re.compile(r"[.!?](?=\s)|(?=\n\s*\n)|\Z").search(text, match.end())
    assert end is not None  # the end of the text matches
    return start, end.end()


def source_of(text: str, spans: np.ndarray, phrase: str | None) -> Source | None:
    """The sentence around a phrase, and the pages on which it stands; None without a phrase or such a sentence.

    Args:
        spans: int64 [pages + 1] where pages begin, bytes, as `Document.text_spans`.
    """
    place = find(text, phrase) if phrase else None
    if place is None:
        return None
    first, last = (len(text[:at].encode()) for at in (place[0], place[1] - 1))
    pages = np.searchsorted(spans, [first, last], side="right")
    return Source(" ".join(text[place[0] : place[1]].split()), (int(pages[0]), int(pages[1])))


def ask_all(document: str, text: bytes, spans: np.ndarray, questions: Sequence[Question], model: Any) -> list[Answered]:
    """Put all questions in the three ways; the model's weights are compared before and after.

    Args:
        document: path of the compressed document.
        text: what it holds.
        spans: int64 [pages + 1] where its pages begin, bytes.
        model: the loaded `FrozenLM`.
    """
    plain = text.decode("utf-8", "replace")
    answered = []
    with model.frozen():
        prepared = api.prepare(document, model=model)
        for question in questions:
            found = prepared.ask(question.text, max_new_tokens=ANSWER_TOKENS)
            source = source_of(plain, spans, question.phrase)
            first, last = source.pages if source else (found["passages"][-1]["pages"][0],) * 2
            page = text[int(spans[first - 1]) : int(spans[last])]
            from_page = api.ask(page, question.text, reader="text", model=model, max_new_tokens=ANSWER_TOKENS)
            bare = b"".join(model.generate(model.chat(question.text), ANSWER_TOKENS)).decode(errors="replace").strip()
            answered.append(Answered(question, source, found, from_page, (first, last), bare))
    return answered
