"""`vtc.api.ask` and `vtc ask`: documents and plain texts, what they print, and how they fail."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from pydoc_data.topics import topics
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from vtc import api
from vtc.cli import main
from vtc.codecs.base import DecodedPage
from vtc.codecs.ids import IdsCodec
from vtc.llm.frozen import FrozenLM
from vtc.records.errors import UsageError, VerificationError, VtcError

TEXT = "".join(f"Line {i} says that the wolf number {i * 7919 % 1000} was there.\n" for i in range(200)).encode()
TEXT = TEXT[:5000] + b"\nThe secret melody is called Aurora.\n" + TEXT[5000:]
QUESTION = "What is the secret melody called?"
FACTS = ("text_bytes", "text_tokens", "latents", "width", "dtype", "codec", "codebook", "latent_ratio", "byte_ratio")


@pytest.fixture
def document(tmp_path: Path, byte_table: object) -> Path:
    api.compress(TEXT, tmp_path / "a.vtc", codec="ids", page_symbols=300)
    return tmp_path / "a.vtc"


@pytest.fixture
def command(echo: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`vtc ask` with the stand-in."""
    monkeypatch.setattr(api, "load_llm", lambda llm: echo)
    return lambda *arguments: main(["ask", *map(str, arguments)])


def test_a_document_and_its_text_are_read_alike(document: Path, echo: Any) -> None:
    asked = api.ask(document, QUESTION, model=echo, pages=2)
    assert b"Aurora" in read_last(asked)
    assert {key: asked[key] for key in api.info(document)} == api.info(document)
    for source in (TEXT, io.BytesIO(TEXT)):
        plain = api.ask(source, QUESTION, model=echo, pages=2)
        assert {key: plain[key] for key in FACTS} == {
            **dict.fromkeys(FACTS),
            **{"text_bytes": len(TEXT), "text_tokens": asked["text_tokens"], "codec": "none"},
            **{"latents": 0, "width": 1, "byte_ratio": 1.0},
        }
        assert plain["pages"] == -(-asked["text_tokens"] // 1024)
        for key in ("answer", "positions", "position_ratio", "sha256"):
            assert plain[key] == asked[key]
    for source in (document.read_bytes(), io.BytesIO(document.read_bytes())):
        assert api.ask(source, QUESTION, model=echo, pages=2)["passages"] == asked["passages"]


def test_prepared_once_and_asked_often(document: Path, echo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = api.prepare(document, model=echo)
    monkeypatch.setattr(IdsCodec, "decode", lambda *_: pytest.fail("decoded again"))
    answers = [reader.ask(question)["passages"] for question in (QUESTION, "wolf number 919", QUESTION)]
    assert answers[0] == answers[2] != answers[1]


def test_a_document_of_another_vocabulary(document: Path, byte_level: ModuleType, echo: Any) -> None:
    echo.vocabulary = byte_level.vocabulary(without=b"y")  # drops the y of every "says"
    record = api.ask(document, QUESTION, model=echo, pages=2, tokens=150)
    pages = [TEXT[a:b] for a, b in zip(*spans(document), strict=True)]
    tokens = sum(len(echo.vocabulary.encode(page.decode())) for page in pages)
    assert record["position_ratio"] == pytest.approx(tokens / record["positions"])
    assert b"Aurora" in read_last(record)


def read_last(record: dict[str, Any]) -> bytes:
    return TEXT[record["passages"][-1]["start"] : record["passages"][-1]["stop"]]


def spans(document: Path) -> tuple[list[int], list[int]]:
    with api.opened(document) as (opened, _, _):
        ends = opened.text_spans.tolist()
    return ends[:-1], ends[1:]


def test_pages_that_fail_are_named(document: Path, echo: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    original = IdsCodec.decode

    def wrong(self: IdsCodec, pages: Any) -> list[DecodedPage]:
        decoded = original(self, pages)
        decoded[4] = DecodedPage(decoded[4].ids[::-1].copy(), decoded[4].confidence, False)
        return decoded

    monkeypatch.setattr(IdsCodec, "decode", wrong)
    with pytest.raises(VerificationError, match=r"a\.vtc: page 5 of \d+ did not decode") as caught:
        api.ask(document, QUESTION, model=echo)
    assert caught.value.pages == [5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reader": "expnad"}, "did you mean 'expand'"),
        ({"tokns": 3}, "option of reader 'expand' 'tokns'; did you mean 'tokens'"),
        ({"reader": "text", "pages": 3}, "unknown option of reader 'text' 'pages'"),
        ({"llm": "x"}, "x: no such folder"),
    ],
)
def test_names_that_are_unknown(document: Path, echo: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(VtcError, match=message):
        api.ask(document, QUESTION, model=None if "llm" in options else echo, **options)


def test_an_empty_question_is_refused_before_anything_is_opened() -> None:
    with pytest.raises(UsageError, match="question is empty"):
        api.ask("/nowhere/a.vtc", " ")


def test_the_verb(document: Path, command: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert command(document, QUESTION, "--max-tokens", 30, "--pages", 1) == 0
    output, errors = capfd.readouterr()
    assert output.startswith("<") and output.endswith("\n")
    assert all(line.startswith(f"{document}: ") for line in errors.splitlines())
    assert (
        f" of {api.info(document)['pages']}, bytes " in errors and "position_ratio" in errors and "plain" not in errors
    )
    assert command(document, QUESTION, "--max-tokens", 30, "--pages", 1, "--json") == 0
    answer, _, line = capfd.readouterr().out.rstrip("\n").rpartition("\n")
    record = json.loads(line)
    assert answer.strip() == record["answer"] == output.strip() and record["question"] == QUESTION
    assert {"document", "reader", "positions", "position_ratio", "pages_read", "seconds", *FACTS} <= set(record)
    (tmp_path / "a.txt").write_bytes(TEXT[:3000])
    assert command(tmp_path / "a.txt", "wolf?", "--reader", "text") == 0
    assert f"{tmp_path / 'a.txt'}: is a plain text, not compressed\n" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["a.vtc", ""], 2, "the question is empty"),
        (["a.vtc", "wolf " * 150], 2, "the question takes "),
        (["a.vtc", "狼在哪里"], 2, "a.vtc: no passage shares a word"),
        (["a.vtc", "wolf", "--reader", "text"], 2, "use --reader expand"),
        (["a.vtc", "wolf", "--reader", "text", "--pages", 2], 2, "unknown option of reader 'text' 'pages'"),
        (["a.vtc", "wolf", "--reader", "vk"], 2, "unknown reader 'vk'"),
        (["a.vtc", "wolf", "--order", "best"], 2, "--order best: choose rank or text"),
        (["a.vtc", "wolf", "--max-tokens", 0], 2, "--max-tokens 0"),
        (["empty.txt", "wolf"], 2, "empty.txt: is empty"),
        (["empty.vtc", "wolf"], 1, "empty.vtc: is not a vtc document"),
        (["none.txt", "wolf"], 1, "none.txt: no such file"),
        ([".", "wolf"], 1, ": is a directory"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[Any],
    status: int,
    message: str,
    document: Path,
    command: Any,
    echo: Any,
    capfd: pytest.CaptureFixture[str],
) -> None:
    echo.window = 400
    for name in ("empty.txt", "empty.vtc"):
        document.with_name(name).write_bytes(b"")
    assert command(document.parent / arguments[0], *arguments[1:]) == status
    output, errors = capfd.readouterr()
    assert output == "" and errors.count("\n") == 1 and errors.startswith("vtc: ") and message in errors


def test_an_empty_document(tmp_path: Path, byte_table: object, command: Any, capfd: pytest.CaptureFixture[str]) -> None:
    api.compress(b"", tmp_path / "e.vtc", codec="ids")
    assert command(tmp_path / "e.vtc", "wolf") == 2
    assert "e.vtc: is empty" in capfd.readouterr().err


def test_the_default_llm_copies_a_number_out_of_a_long_document(
    llm: FrozenLM, byte_level: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five digits in 20,000 tokens, through a document; the window holds 8,192."""
    words, draw = llm.vocabulary, random.Random(11)
    number, table = str(draw.randrange(10_000, 100_000)), byte_level.Table(llm.vocabulary)
    prose = words.decode(words.encode(" ".join("\n".join(topics.values()).split()))[:20_000]).decode(errors="ignore")
    sentences = prose.split(". ")
    text = ". ".join([*sentences[:300], f"The magic number is {number}", *sentences[300:]]).encode()
    monkeypatch.setattr(api, "load_table", lambda name: table)
    monkeypatch.setattr(api, "load_vocabulary", lambda name: words)
    document = io.BytesIO()
    made = api.compress(text, document, codec="ids")
    before = llm.fingerprint()
    record = api.ask(document.getvalue(), "What is the magic number?", model=llm, max_new_tokens=24)
    assert number in record["answer"] and made["text_tokens"] > 2 * llm.window
    where = text.index(number.encode())
    page = int(np.searchsorted(page_ends(document.getvalue()), where, side="right"))
    assert page + 1 in record["pages_read"] and record["position_ratio"] > 20
    assert llm.fingerprint() == before


def page_ends(document: bytes) -> np.ndarray:
    with api.opened(document) as (opened, _, _):
        return opened.text_spans[1:]
