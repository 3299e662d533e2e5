"""Owners in other words, and owners that look alike.

A paraphrase shares no content word with any role, so that it can be understood and not matched.
"""

from __future__ import annotations

WORDINGS = ("plain", "paraphrased")

OTHER_WORDS: dict[str, str] = {
    "keeper of the lighthouse": "the person who tends the beacon on the coast",
    "harbour master": "the person in charge of the port",
    "village doctor": "the physician who treats the sick",
    "bell ringer": "the person who sounds the chimes in the church tower",
    "bridge warden": "the guard of the river crossing",
    "ferry captain": "the person who steers the boat to the other shore",
    "night watchman": "the sentry who patrols until dawn",
    "town clerk": "the official who files the records of the municipality",
    "stone mason": "the worker who cuts granite and marble",
    "beekeeper": "the person whose insects produce honey",
    "glass blower": "the artisan who shapes bottles and vases in the furnace",
    "organ builder": "the craftsman of church instruments with pipes",
    "mountain guide": "the person who leads hikers to the summit",
    "clock maker": "the artisan who repairs timepieces",
    "school librarian": "the person who lends books to pupils",
    "head gardener": "the person responsible for the flowers and hedges",
    "station agent": "the person who sells tickets at the railway",
    "salt merchant": "the trader in white seasoning",
    "wheelwright": "the craftsman who repairs carts",
    "cheese maker": "the dairyman who ripens Gouda and Brie",
    "puppet carver": "the artisan of wooden marionettes",
    "chess teacher": "the instructor of the game with kings and pawns",
    "map drawer": "the cartographer",
    "flute player": "the musician with the woodwind",
    "snow plough driver": "the person who clears the roads in winter",
    "castle cook": "the chef at the fortress",
}
"""By role (`eval.tasks.people.ROLES`)."""

NEIGHBOURS: dict[str, str] = {
    "keeper of the lighthouse": "painter of the lighthouse",
    "harbour master": "harbour pilot",
    "village doctor": "village dentist",
    "bell ringer": "bell founder",
    "bridge warden": "bridge painter",
    "ferry captain": "ferry stoker",
    "night watchman": "night porter",
    "town clerk": "town crier",
    "stone mason": "stone carter",
    "beekeeper": "beehive seller",
    "glass blower": "glass cutter",
    "organ builder": "organ tuner",
    "mountain guide": "mountain rescuer",
    "clock maker": "clock dealer",
    "school librarian": "school janitor",
    "head gardener": "head waiter",
    "station agent": "station porter",
    "salt merchant": "salt miner",
    "wheelwright": "wheelbarrow seller",
    "cheese maker": "cheese seller",
    "puppet carver": "puppet dealer",
    "chess teacher": "chess champion",
    "map drawer": "map seller",
    "flute player": "flute tuner",
    "snow plough driver": "snow gauge reader",
    "castle cook": "castle steward",
}
"""By role another one that shares a word with it, and that its paraphrase does not describe."""
