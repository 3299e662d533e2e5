"""Texts with a fact at the beginning, facts of the same form about others near the end, and a sentence that needs the
first."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

from eval.schema import Item, Probe
from eval.tasks.far_fact.facts import FACTS, Fact, draw_value
from eval.tasks.filler import BREAK, END, LINE, digest, ends, haystack, insert_at, span_of
from eval.tasks.people import fresh, fresh_roles
from vtc.llm.vocabulary import Vocabulary

if TYPE_CHECKING:
    from eval.tasks.far_fact import FarFact

FIRST, TENTH = 0.04, 0.1
"""The fact stands within the first tenth, but behind what keeping the beginning keeps; what is said about
others stands within the last tenth."""
RECENT, UNSEEN = 2, 1
"""Wrong choices that the last tenth holds, and that nothing does."""


def items(task: FarFact) -> Iterator[Item]:
    """`task.n` texts; kinds of facts and their forms take turns."""
    words = Vocabulary.load(task.llm)
    forms = [fact for fact in FACTS if fact.kind in task.kinds]
    random.Random(f"{task.seed}:far_fact").shuffle(forms)
    for number in range(task.n):
        yield item(task, words, number, forms[number % len(forms)])


def item(task: FarFact, words: Vocabulary, number: int, form: Fact) -> Item:
    """One text of about `task.tokens` tokens."""
    draw = random.Random(f"{task.seed}:far_fact:{task.filler}:{task.tokens}:{number}")
    hay = haystack(task.filler, task.tokens - 20 * (1 + RECENT), words, draw, task.data, task.split)
    roles = fresh_roles(draw, hay, 1 + RECENT)
    values: list[str] = []
    for _ in range(1 + RECENT + UNSEEN):
        values.append(fresh(lambda: draw_value(form.kind, draw), hay, values))
    facts = [form.statement.format(role=role, value=value) for role, value in zip(roles, values, strict=False)]
    document = insert_at(hay, places(hay, facts, draw), facts)
    probe = Probe(
        "fact",
        prompt="\n\n" + form.recall.format(role=roles[0]),
        choices=tuple(f" {value}" for value in values),
        answer=values[0],
        evidence=(span_of(document, facts[0]),),
        tags={"kind": form.kind},
    )
    return Item(
        f"{form.kind}-{task.tokens}-{number}-{digest(document)}", task.filler, document.encode(), "continue", (probe,)
    )


def places(hay: str, facts: list[str], draw: random.Random) -> list[int]:
    """Ends of sentences: for the first fact an early one, for the others late ones, characters."""
    found = ends(hay)
    total = len(hay) + sum(len(fact) + 2 for fact in facts)  # with the blank line
    after = TENTH * total - sum(len(fact) + 2 for fact in facts[1:])
    late = [end for end in found if len(hay) - end <= max(0, after)]
    return [draw.choice(early(hay)), *(draw.choice(late) for _ in facts[1:])]


def early(hay: str) -> list[int]:
    """Ends of sentences between `FIRST` and `TENTH` of a text, of lines where there are none, or of words."""
    for pattern in (END, LINE, BREAK):
        found = [end for end in ends(hay, pattern) if FIRST * len(hay) <= end <= TENTH * len(hay)]
        if found:
            return found
    return [round(TENTH * len(hay))]
