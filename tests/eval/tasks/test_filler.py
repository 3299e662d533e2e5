"""Texts that tasks are cut from."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eval.data import data_dir
from eval.tasks import filler
from eval.tasks.filler import BREAK, DOMAINS, cut, digest, documents, haystack, insert, lead, nearest_end
from vtc.llm.vocabulary import Vocabulary
from vtc.records.errors import UsageError, VtcError

has_data = (data_dir() / "fox_en.jsonl.gz").is_file()
needs_data = pytest.mark.skipif(
    not has_data, reason="no evaluation texts: name their directory in VTC_DATA (from dududuck00/DeepSeekOCR)"
)


@pytest.mark.parametrize(
    "domain", [pytest.param(d, marks=needs_data if d in ("prose", "fox") else ()) for d in DOMAINS]
)
def test_documents_are_clean_and_named_apart(domain: str) -> None:
    names = []
    for name, text in documents(domain):
        names.append(name)
        assert text.encode().decode() == text and text == text.strip() != ""
        assert "\r" not in text and not any(line != line.rstrip() for line in text.split("\n"))
    assert len(set(names)) == len(names) >= 4


def test_code_keeps_its_comments_and_is_long() -> None:
    texts = dict(documents("code"))
    assert len(texts) >= 25 and min(map(len, texts.values())) > 15_000
    assert all("# " in text for text in texts.values())


def test_an_order_is_drawn_by_the_seed() -> None:
    orders = [[name for name, _ in documents("manual", draw=draw)] for draw in (None, *map(random.Random, (1, 1, 2)))]
    assert orders[0] == sorted(orders[0]) and orders[1] == orders[2] != orders[3]
    assert set(orders[1]) == set(orders[0])


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="did you mean 'manual'"):
        next(documents("manuel"))
    for domain in ("prose", "fox"):
        with pytest.raises(VtcError, match="dududuck00/DeepSeekOCR"):
            next(documents(domain, str(tmp_path)))
    monkeypatch.setattr(filler.sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path)})
    with pytest.raises(VtcError, match="choose other domains than code"):
        next(documents("code"))
    (tmp_path / "ast.py").write_bytes(b"# \xff")
    with pytest.raises(VtcError, match=r"ast\.py: not UTF-8"):
        next(documents("code"))


@given(st.text("ab\n ", max_size=60), st.integers(0, 60), st.integers(0, 60))
@example("aaa\na", 0, 4)  # a stretch that ends with a line's end
def test_a_cut_holds_whole_words_only(text: str, start: int, chars: int) -> None:
    """The independent way: keep every word whose place lies inside."""
    inside = []
    at = 0
    for word in text.split():
        at = text.index(word, at)
        if at >= start and at + len(word) <= start + chars:
            inside.append(word)
        at += len(word)
    assert cut(text, start, chars).split() == inside
    assert cut(text, start, chars) in text


def test_a_lead_is_as_long_as_its_tokens_allow(vocabulary: Vocabulary) -> None:
    text = "The tide comes in twice a day, and it leaves as often. " * 40
    for tokens in (5, 64, 300):
        found = lead(text, tokens, vocabulary)
        assert text.startswith(found) and tokens - 3 <= len(vocabulary.encode(found)) <= tokens
        assert text[len(found)].isspace()
    assert lead(text, 10_000, vocabulary) == text.rstrip()


def test_a_haystack_is_about_as_long_as_asked_for(vocabulary: Vocabulary) -> None:
    for domain, tokens in (("manual", 400), ("manual", 9000), ("code", 3000)):
        hay = haystack(domain, tokens, vocabulary, random.Random(3))
        assert 0.9 * tokens <= len(vocabulary.encode(hay)) <= 1.01 * tokens
        assert hay == haystack(domain, tokens, vocabulary, random.Random(3))
    with pytest.raises(UsageError, match="of manual were asked for"):
        haystack("manual", 10**7, vocabulary, random.Random(3))


def test_the_nearest_end_is_that_of_a_sentence_or_else_of_a_line() -> None:
    text = "One is here. Two is there! Three\n\nFour"
    assert [text[: nearest_end(text, place)] for place in (0, 11, 25, 31, 99)] == [
        "",
        "One is here.",
        "One is here. Two is there!",
        "One is here. Two is there! Three",
        text,
    ]
    table = "\n".join(f"row {i:03}" for i in range(100))
    assert table[: nearest_end(table, 404)].endswith("\nrow 049") or table[: nearest_end(table, 404)].endswith(
        "\nrow 050"
    )


def test_what_is_inserted_are_paragraphs_in_their_places() -> None:
    text = "A first. A second.\n\n    indented = 1"
    assert insert(text, [8, 18], ["X.", "Y."]) == "A first.\n\nX.\n\nA second.\n\nY.\n\n    indented = 1"
    assert insert(text, [0, len(text)], ["X.", "Y."]) == f"X.\n\n{text}\n\nY."
    assert "X.\n\nY." in insert(text, [18, 18], ["X.", "Y."]) or "Y.\n\nX." in insert(text, [18, 18], ["X.", "Y."])


def test_breaks_and_digests() -> None:
    text = "a  b c, 5 (d e"
    assert [text[match.start() :] for match in BREAK.finditer(text)] == [" c, 5 (d e", " e"]
    assert digest("é") == hashlib.sha256("é".encode()).hexdigest()[:8] != digest("e")
