"""Differences: the parts are the texts, as a minimal edit cuts them, and the page shows nothing that is not in them."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from eval.reporting import differences
from eval.reporting.characters import pointed_out, shown, system_name

WORDS = st.text(st.sampled_from("ab1 \n<&\"'é漢ש\u202e\x00\udcff"), max_size=60)
PRINTABLE = st.text(st.sampled_from("ab1 \n\t<&\"'é漢ש"), max_size=300)


def unmarked(markup: str) -> str:
    """The text of HTML whose tags are all ours."""
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


@given(WORDS, WORDS)
def test_the_parts_joined_are_the_texts_and_cost_the_edit_distance(reference: str, output: str) -> None:
    spans = differences.spans(reference, output)
    assert "".join(span.left for span in spans) == reference
    assert "".join(span.right for span in spans) == output
    assert all((span.left == span.right) == (span.kind == "equal") for span in spans)
    cost = sum(max(len(span.left), len(span.right)) for span in spans if span.kind != "equal")
    assert cost == Levenshtein.distance(reference, output)


@given(PRINTABLE, PRINTABLE)
def test_the_page_without_its_marks_is_the_texts(reference: str, output: str) -> None:
    left, right = differences.columns(reference, output)
    # Stretches are folded only where more than three times AROUND characters are equal.
    if max(len(reference), len(output)) < 3 * differences.AROUND:
        assert (unmarked(left), unmarked(right)) == (reference, output)
    assert not set(re.findall(r"<(/?\w+)", left + right)) - {"span", "/span", "del", "/del", "ins", "/ins"}


def test_a_page_with_one_error_is_short_and_shows_it() -> None:
    text = "All is well here. " * 400
    left, right = differences.columns(text, text[:3000] + "X" + text[3001:])
    assert "<del>" in left and "<ins>X</ins>" in right
    assert f"… {3000 - differences.AROUND:,} equal characters …" in left
    assert f"… {len(text) - 3001 - differences.AROUND:,} equal characters …" in right
    assert len(unmarked(left)) < 300


def test_long_and_hopeless_pages_are_cut_off_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    left, right = differences.columns("a" * 9000, "b" * 8000)
    assert f"… {9000 - differences.SHOWN:,} more characters …" in left
    assert len(unmarked(left)) < differences.SHOWN + 100
    monkeypatch.setattr(differences, "COMPARED", 10)
    spans = differences.spans("same" + "x" * 20, "same" + "y" * 30)
    assert [(span.kind, len(span.left), len(span.right)) for span in spans] == [
        ("equal", 4, 4),
        ("replace", 10, 10),
        ("replace", 10, 20),
    ]


def test_what_is_lost_and_what_is_new_is_told_apart() -> None:
    left, right = differences.columns("one two", "one  twX")
    assert left.count('class="gap"') == 1 and left.endswith("<del>o</del>")
    assert '<ins><span class="sp"> </span></ins>' in right and right.endswith("<ins>X</ins>")


@given(st.text())
def test_any_text_becomes_harmless_and_can_be_written(text: str) -> None:
    for markup in (shown(text), pointed_out(text), system_name(text)):
        markup.encode("utf-8")
        assert "\x00" not in markup
        assert set(re.findall(r"<[^>]*>", markup)) <= {
            "</span>",
            "<wbr>",
            *(f'<span class="{name}">' for name in ("code", "sp", "nl", "tab")),
        }


def test_invisible_characters_are_named_only_where_they_matter() -> None:
    assert shown("a\u200bb c") == "a\u200bb c"
    assert pointed_out("a\u200b") == 'a<span class="code">U+200B</span>'
    assert shown("\x00\udcff\r") == "".join(
        f'<span class="code">{name}</span>' for name in ("U+0000", "byte FF", "U+000D")
    )
