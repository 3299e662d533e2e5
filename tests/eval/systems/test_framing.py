"""Probes as ids: the same turn as the readers' own, and what is too short to score."""

from __future__ import annotations

import numpy as np
import pytest

from eval.schema import Item, Mode, Probe
from eval.systems.framing import framed, opening
from vtc.llm.frozen import FrozenLM
from vtc.records.errors import UsageError

TEXT = "The wolf was there."


def item(mode: Mode, probe: Probe) -> Item:
    return Item("i7", "made", TEXT.encode(), mode, (probe,))


def ids(llm: FrozenLM, text: str) -> list[int]:
    return llm.vocabulary.encode(text).tolist()


def test_a_question_is_the_turn_of_the_readers(tiny: FrozenLM) -> None:
    probe = Probe("q", "Who {was} there?", ("the wolf", "a lamb"))
    found = framed(tiny, item("ask", probe), probe)
    whole = tiny.chat(f"Read this text.\n\n{TEXT}\n\nUsing the text above, answer briefly: Who {{was}} there?")
    assert [*opening(tiny, item("ask", probe)), *ids(tiny, TEXT), *found.prompt] == whole.tolist()
    assert [choice.tolist() for choice in found.choices] == [ids(tiny, "the wolf"), ids(tiny, "a lamb")]
    assert found.prompt.dtype == np.int32


def test_a_readers_own_prompt_stands_in_place_of_the_question(tiny: FrozenLM) -> None:
    probe = Probe("q", "Who?")
    given = np.array([5, 6, 7])
    found = framed(tiny, item("ask", probe), probe, given)
    assert found.prompt.tolist() == [5, 6, 7] and found.prompt.dtype == np.int32 and found.choices == []


def test_a_text_goes_on_after_what_the_reader_holds(tiny: FrozenLM) -> None:
    probe = Probe("next", " It slept.", (" Then it woke.",))
    assert opening(tiny, item("continue", probe)).tolist() == [tiny.start]
    for given, before in ((None, []), (np.array([], np.int32), []), (np.array([9, 8]), [9, 8])):
        found = framed(tiny, item("continue", probe), probe, given)
        assert found.prompt.tolist() == before + ids(tiny, " It slept.")
        assert [choice.tolist() for choice in found.choices] == [ids(tiny, " Then it woke.")]


def test_with_nothing_between_the_first_token_is_read_and_not_scored(tiny: FrozenLM) -> None:
    probe = Probe("next", "", (" Then it woke.",))
    found = framed(tiny, item("continue", probe), probe)
    assert [*found.prompt, *found.choices[0]] == ids(tiny, " Then it woke.") and len(found.prompt) == 1
    found = framed(tiny, item("continue", probe), probe, np.array([4]))
    assert found.prompt.tolist() == [4] and found.choices[0].tolist() == ids(tiny, " Then it woke.")


@pytest.mark.parametrize(
    ("mode", "prompt", "choices"),
    [
        ("continue", "", ()),
        ("continue", "", ("",)),
        ("continue", "", ("x",)),
        ("continue", "", ("one", "two")),
        ("continue", "before", ("one", "")),
        ("ask", "Who?", ("",)),
    ],
)
def test_what_is_too_short_to_score(tiny: FrozenLM, mode: Mode, prompt: str, choices: tuple[str, ...]) -> None:
    probe = Probe("p3", prompt, choices)
    with pytest.raises(UsageError, match="item i7, probe p3: is too short to score"):
        framed(tiny, item(mode, probe), probe)
