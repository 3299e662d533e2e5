"""Pages of identifiers: one wrong character makes each of them worthless, and no language helps to guess it."""

from __future__ import annotations

import random
from collections.abc import Callable
from ipaddress import IPv6Address
from string import ascii_uppercase, digits
from uuid import UUID

LINES = 40

ACCOUNTS: dict[str, str] = {
    "BE": "n" * 12,
    "CH": "n" * 5 + "c" * 12,
    "DE": "n" * 18,
    "ES": "n" * 20,
    "FR": "n" * 10 + "c" * 11 + "n" * 2,
    "GB": "a" * 4 + "n" * 14,
    "MT": "a" * 4 + "n" * 5 + "c" * 18,
    "NL": "a" * 4 + "n" * 10,
    "NO": "n" * 11,
    "PL": "n" * 24,
    "SE": "n" * 20,
}
"""The account number within an IBAN by country: n a digit, a a capital letter, c either (the IBAN registry)."""

ALPHABETS = {"n": digits, "a": ascii_uppercase, "c": digits + ascii_uppercase}
NAMES = ("ada", "bruno", "chiara", "dmitri", "eszter", "farid", "greta", "hiro", "ines", "jonas")
HOSTS = ("example.org", "mail.example.net", "post.example.com", "uni-ulm.example", "x7.example")


def iban(country: str, account: str) -> str:
    """An IBAN with its check digits (ISO 13616, by ISO 7064 MOD 97-10). Check digits that a country has within the
    account are not made."""
    number = "".join(str(int(character, 36)) for character in f"{account}{country}00")
    return f"{country}{98 - int(number) % 97:02d}{account}"


def random_iban(draw: random.Random) -> str:
    """Of a random country."""
    country = draw.choice(sorted(ACCOUNTS))
    return iban(country, "".join(draw.choice(ALPHABETS[kind]) for kind in ACCOUNTS[country]))


def uuid(draw: random.Random) -> str:
    """Version 4."""
    return str(UUID(int=draw.getrandbits(128), version=4))


def sha1(draw: random.Random) -> str:
    """40 hexadecimal digits."""
    return f"{draw.getrandbits(160):040x}"


def address(draw: random.Random) -> str:
    """An e-mail address in a domain that is kept for examples."""
    return f"{draw.choice(NAMES)}{draw.choice('._-')}{draw.randrange(1000)}@{draw.choice(HOSTS)}"


def licence_key(draw: random.Random) -> str:
    """Five groups of five letters and digits."""
    return "-".join("".join(draw.choice(ALPHABETS["c"]) for _ in range(5)) for _ in range(5))


def release(draw: random.Random) -> str:
    """A version number, pre-release and build included."""
    numbers = ".".join(str(draw.randrange(30)) for _ in range(3))
    return f"v{numbers}{draw.choice(['', 'a1', '-rc.2', '.dev7'])}+{draw.getrandbits(28):07x}"


def ipv6(draw: random.Random) -> str:
    """A documentation address in its short form, with a run of zeros."""
    return str(IPv6Address((0x20010DB8 << 96) | draw.getrandbits(64)))


KINDS: tuple[tuple[str, Callable[[random.Random], str]], ...] = (
    ("IBAN", random_iban),
    ("UUID", uuid),
    ("SHA-1", sha1),
    ("mail", address),
    ("key", licence_key),
    ("version", release),
    ("address", ipv6),
)


def identifier_page(draw: random.Random) -> str:
    """`LINES` lines, every kind in turn."""
    lines = []
    for i in range(LINES):
        label, make = KINDS[i % len(KINDS)]
        lines.append(f"{label} {make(draw)}\n")
    return "".join(lines)
