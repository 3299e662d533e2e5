"""Fox pages with their questions."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from eval.data import fox_pages
from eval.schema import Item, Probe
from eval.tasks.split import side

if TYPE_CHECKING:
    from eval.tasks.questions import Questions


def items(task: Questions) -> Iterator[Item]:
    """All pages or `task.n` of them."""
    chosen = [page["id"] for page in fox_pages(task.data) if task.split in ("all", side(f"fox/{page['id']}"))]
    if task.n is not None:
        chosen = random.Random(f"{task.seed}:questions").sample(chosen, min(task.n, len(chosen)))
    for page in fox_pages(task.data):
        if page["id"] in chosen:
            probes = tuple(probe(f"question{i}", question) for i, question in enumerate(page["questions"]))
            yield Item(page["id"], "fox", page["text"].encode(), "ask", probes)


def probe(name: str, question: dict[str, Any]) -> Probe:
    """A question, the right option first; their letters are not shown."""
    options, letter = question["options"], question["correct_answer"]
    wrong = [text for key, text in options.items() if key != letter]
    return Probe(name, question["question"], choices=(options[letter], *wrong), answer=options[letter])
