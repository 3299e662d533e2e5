"""How a document reaches the frozen LLM, as every reader does it: prepare a document once, then ask it many times."""

from __future__ import annotations

import codecs
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vtc.metrics import position_ratio
from vtc.records.errors import UsageError

if TYPE_CHECKING:
    from vtc.llm.frozen import FrozenLM

MAX_NEW_TOKENS = 128
BEFORE = "Read this text.\n\n"
AFTER = "\n\nUsing the text above, answer briefly: {question}"
"""What stands around the document in a user's turn. Without "briefly" the default LLM is right as often, but goes on to
the last token."""


@dataclass(frozen=True)
class Page:
    """One page of the document's text."""

    text: bytes
    ids: np.ndarray
    """int32 [n], by the frozen LLM's own tokenizer."""


@dataclass(frozen=True)
class Context:
    """What the model is given for one question."""

    prompt: np.ndarray
    """Ids that are read on top of `cache`, int32 [n]; the model goes on from there."""
    positions: float
    """Entries that attention sees for the document, on average over layers and heads: those that the same prompt
    without the document would not have. Separators within the document are counted."""
    spans: list[tuple[int, int]]
    """The bytes of the text that were read, start and stop of each part, in the order given to the model."""
    cache: Any = None
    """What was read already; whoever reads on top of it leaves it as it was."""


@dataclass
class Reader(ABC):
    """A way for a document to reach the frozen LLM. One dataclass, one file; found by name in `vtc.records.registry`.

    Attributes:
        about: facts of the document that each answer's record repeats.
        title: what messages call the document.
        text_tokens: tokens of the document by the LLM's own tokenizer.
        prepare_seconds: what `prepare` took, decoding included.
    """

    name: ClassVar[str]
    llm: FrozenLM
    about: dict[str, Any] = field(init=False, default_factory=dict)
    title: str = field(init=False, default="the text")
    text_tokens: int = field(init=False, default=0)
    prepare_seconds: float = field(init=False, default=0.0)
    _ends: np.ndarray = field(init=False, repr=False, default_factory=lambda: np.zeros(0, np.int64))

    def admit(self, tokens: int) -> None:
        """Refuse a document of so many tokens before any of it is decoded; by default none is."""
        return None

    @abstractmethod
    def take(self, pages: Iterator[Page]) -> None:
        """Keep what questions will need; every page comes once, in order, and all must be consumed."""

    @abstractmethod
    def context(self, question: str, max_new_tokens: int) -> Context:
        """What to give to the model, so that an answer of `max_new_tokens` still fits into its window.

        Raises:
            UsageError: it does not fit; with the numbers.
        """

    def continuation(self, opening: np.ndarray | None = None) -> Context:
        """What to give to the model so that it goes on with the text itself; the prompt may be empty.

        Args:
            opening: ids int32 [k >= 1] before the document; by default the model's own start token.

        Raises:
            UsageError: this reader picks what it reads by a question.
        """
        raise UsageError(f"reader {self.name!r} needs a question; it can not go on with a text")

    def prepare(self, pages: Iterable[Page], about: dict[str, Any], title: str = "the text") -> None:
        """Take in a document; it replaces the one before.

        Args:
            about: its facts, at least `text_bytes`; `vocabulary_hash` and `text_tokens` where they are known.
            title: what messages call it.

        Raises:
            UsageError: it is empty, or this reader cannot read it.
        """
        self.about, self.title = about, title
        if not about["text_bytes"]:
            raise UsageError(f"{title}: is empty; there is nothing to ask")
        if about.get("vocabulary_hash") == self.llm.vocabulary.hash:
            self.admit(about["text_tokens"])
        start = time.perf_counter()
        sizes: list[tuple[int, int]] = []

        def counted() -> Iterator[Page]:
            for page in pages:
                sizes.append((len(page.text), len(page.ids)))
                yield page

        self.take(counted())
        totals = np.cumsum(np.array(sizes, np.int64), axis=0)  # [pages, bytes and tokens]
        self._ends, self.text_tokens = totals[:, 0], int(totals[-1, 1])
        self.prepare_seconds = time.perf_counter() - start

    def answer(self, context: Context, max_new_tokens: int) -> Iterator[bytes]:
        """The bytes of each token of the answer as it arrives."""
        return self.llm.generate(context.prompt, max_new_tokens, context.cache)

    def ask(
        self, question: str, *, max_new_tokens: int = MAX_NEW_TOKENS, on_text: Callable[[str], None] | None = None
    ) -> dict[str, Any]:
        """Ask the prepared document.

        Args:
            max_new_tokens: the answer ends there at the latest.
            on_text: is called with each piece of the answer as it arrives.

        Returns:
            A JSON-able record: `answer`, `reader`, `positions`, `position_ratio`, `pages_read` (numbers from 1),
            `passages` (in the order read: pages, and start and stop in bytes of the text), `answer_tokens`, `seconds`
            from the question to the end of the answer, `first_token_seconds`, `prepare_seconds`, and `about`.

        Raises:
            UsageError: an empty question, or one that does not fit into the window.
        """
        check_question(question)
        if max_new_tokens < 1:
            raise UsageError(f"--max-tokens {max_new_tokens}: an answer has at least 1 token")
        start = time.perf_counter()
        context = self.context(question, max_new_tokens)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        pieces: list[str] = []
        times: list[float] = []
        for token in self.answer(context, max_new_tokens):
            times.append(time.perf_counter() - start)
            pieces.append(decoder.decode(token))
            if on_text and pieces[-1]:
                on_text(pieces[-1])
        pieces.append(decoder.decode(b"", final=True))
        if on_text and pieces[-1]:
            on_text(pieces[-1])
        seconds = time.perf_counter() - start
        pages = [self.pages_of(*span) for span in context.spans]
        return {
            **self.about,
            "answer": "".join(pieces).strip(),
            "reader": self.name,
            "positions": context.positions,
            "position_ratio": position_ratio(self.text_tokens, context.positions),
            "pages_read": sorted({number for numbers in pages for number in numbers}),
            "passages": [{"pages": on, "start": a, "stop": b} for on, (a, b) in zip(pages, context.spans, strict=True)],
            "answer_tokens": len(times),
            "seconds": round(seconds, 3),
            "first_token_seconds": round(times[0] if times else seconds, 3),
            "prepare_seconds": round(self.prepare_seconds, 3),
        }

    def pages_of(self, start: int, stop: int) -> list[int]:
        """Numbers, counted from 1, of the pages that bytes `start` to `stop` of the text stand on."""
        first = int(np.searchsorted(self._ends, start, side="right"))
        last = int(np.searchsorted(self._ends, stop, side="left"))
        return list(range(first + 1, last + 2))

    def around(self, question: str) -> tuple[np.ndarray, np.ndarray]:
        """Ids of the turn before and after the document, int32 each."""
        return self.llm.chat_around(BEFORE, AFTER.format(question=question))

    def room(self, question: str, max_new_tokens: int) -> int:
        """Positions that the window has for the document beside the question and the answer.

        Raises:
            UsageError: it has none.
        """
        asked = sum(map(len, self.around(question)))
        room = self.llm.window - asked - max_new_tokens
        if room < 1:
            raise UsageError(
                f"the question takes {asked} tokens and its answer up to {max_new_tokens}, and the window of "
                f"{self.llm.name} is {self.llm.window}; shorten the question or lower --max-tokens"
            )
        return room


def check_question(question: str) -> None:
    """Refuse a question without a word.

    Raises:
        UsageError: it is empty.
    """
    if not question.strip():
        raise UsageError("the question is empty; ask something")
