"""Made persons."""

from __future__ import annotations

import random

import pytest

from eval.tasks.people import FIRST, LAST, PLACES, ROLES, fresh, fresh_roles, full_name


def test_no_name_is_a_part_of_another() -> None:
    for names in (ROLES, FIRST, LAST, PLACES):
        assert len(names) >= 20
        assert not any(a != b and a.lower() in b.lower() for a in names for b in names)
        assert len(set(names)) == len(names)


def test_a_name_has_two_parts() -> None:
    first, last = full_name(random.Random(0)).split()
    assert first in FIRST and last in LAST


def test_what_is_fresh_occurs_nowhere_in_part() -> None:
    draw = random.Random(0)
    text = " ".join([*FIRST[:-1], *LAST[:-1]]).upper()
    assert fresh(lambda: full_name(draw), text) == f"{FIRST[-1]} {LAST[-1]}"
    values = iter(["Otto Marling", "Ilsa Quist", "Ilsa Marling"])
    assert fresh(lambda: next(values), "Mr. quist came.", ["Otto Brandt"]) == "Ilsa Marling"


def test_roles_that_a_text_mentions_are_left_out() -> None:
    text = " and ".join(ROLES[2:]).title()
    assert sorted(fresh_roles(random.Random(0), text, 2)) == sorted(ROLES[:2])
    with pytest.raises(ValueError):
        fresh_roles(random.Random(0), text, 3)
