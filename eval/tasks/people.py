"""Made persons, trades and places: names that no text about anything else holds."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

ROLES = (
    "keeper of the lighthouse",
    "harbour master",
    "village doctor",
    "bell ringer",
    "bridge warden",
    "ferry captain",
    "night watchman",
    "town clerk",
    "stone mason",
    "beekeeper",
    "glass blower",
    "organ builder",
    "mountain guide",
    "clock maker",
    "school librarian",
    "head gardener",
    "station agent",
    "salt merchant",
    "wheelwright",
    "cheese maker",
    "puppet carver",
    "chess teacher",
    "map drawer",
    "flute player",
    "snow plough driver",
    "castle cook",
)
"""Who a fact is about. None is a part of another."""

FIRST = (
    "Ilsa Otto Marta Anselm Greta Viktor Lotte Bruno Hanna Emil Frida Konrad Selma Jonas Thea Ludwig Nora Edgar Paula "
    "Henrik Clara Oskar Irma Felix Rosa Gustav Elin Matthias Dora Stefan"
).split()
LAST = (
    "Brandt Hallgren Oberlin Kessler Nyberg Falkner Rosendahl Tiedemann Marling Quist Vasek Holloway Lindqvist Aldous "
    "Pemberton Straub Wexler Ostrom Carrow Haverland Dunmore Eklund Fairweather Grimaldi Jansson Kovarik Lathrop "
    "Mosberg Norgaard Pellerin"
).split()
PLACES = (
    "Marenfeld Oldbridge Tarnhof Silverton Eskdale Kaltenau Brookhaven Winterlohe Halmstedt Roscombe Stonewick "
    "Netherby Sandvik Falkenried Ashmoor Lindgate Torvalla Birkholm Westerlee Altmere Hartwick Dornbach Elmsford "
    "Ravnsborg"
).split()


def full_name(draw: random.Random) -> str:
    """A first and a last name."""
    return f"{draw.choice(FIRST)} {draw.choice(LAST)}"


def fresh(draw_value: Callable[[], str], text: str, taken: Sequence[str] = ()) -> str:
    """A value of which no word occurs in the text or among the values `taken`, in any case."""
    held = "\n".join([text, *taken]).lower()
    while True:
        value = draw_value()
        if not any(word in held for word in value.lower().split()):
            return value


def fresh_roles(draw: random.Random, text: str, count: int) -> list[str]:
    """Different roles that the text does not mention."""
    held = text.lower()
    return draw.sample([role for role in ROLES if role not in held], count)
