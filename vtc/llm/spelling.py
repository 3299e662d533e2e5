"""What a `tokenizer.json` says: settings that encode text as it stands, and the bytes behind each token's spelling.

The file's parts (normaliser, pre-tokenizer, model, decoder) are those of the Hugging Face `tokenizers` library.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

UNICODE_FORMS = {"NFC", "NFD", "NFKC", "NFKD"}


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """The tokenizer's settings without what would add, cut or change text that its model can encode as it stands.

    No padding, truncation or merge dropout; no space put before the text; for models that cover every byte no Unicode
    normalisation either. Every added token counts as special, so that text never becomes one, except white space.
    """
    settings = {**settings, "truncation": None, "padding": None, "model": {**settings["model"], "dropout": None}}
    tokens = settings.get("added_tokens") or []
    settings["added_tokens"] = [{**token, "special": bool(token["content"].strip())} for token in tokens]
    dropped = {"Prepend"} | (UNICODE_FORMS if covers_bytes(settings) else set())
    settings["normalizer"] = without(settings.get("normalizer"), dropped)
    settings["pre_tokenizer"] = unprefixed(settings.get("pre_tokenizer"))
    return settings


def without(part: dict[str, Any] | None, dropped: set[str]) -> dict[str, Any] | None:
    """A normaliser without the steps of the `dropped` types."""
    if part is None or part["type"] in dropped:
        return None
    if part["type"] != "Sequence":
        return part
    kept = [step for step in (without(step, dropped) for step in part["normalizers"]) if step is not None]
    return {**part, "normalizers": kept} if kept else None


def unprefixed(part: dict[str, Any] | None) -> dict[str, Any] | None:
    """A pre-tokenizer that puts no space before the text."""
    if part is None:
        return None
    if part["type"] == "Sequence":
        return {**part, "pretokenizers": [unprefixed(step) for step in part["pretokenizers"]]}
    if part["type"] == "Metaspace":
        return {**part, "add_prefix_space": False, "prepend_scheme": "never"}
    return {**part, "add_prefix_space": False} if part["type"] == "ByteLevel" else part


def covers_bytes(settings: dict[str, Any]) -> bool:
    """Whether text of any kind has tokens: byte-level, or with a fall-back to bytes."""
    return "ByteLevel" in step_types(settings) or bool(settings["model"].get("byte_fallback"))


def step_types(settings: dict[str, Any]) -> set[str]:
    """Types of all steps of the normaliser, the pre-tokenizer and the decoder."""
    found: set[str] = set()
    stack = [settings.get(part) for part in ("normalizer", "pre_tokenizer", "decoder")]
    while stack:
        step = stack.pop()
        if step:
            found.add(step["type"])
            for inner in ("normalizers", "pretokenizers", "decoders"):
                stack += step.get(inner) or []
    return found


def spelling(settings: dict[str, Any]) -> Callable[[str], bytes]:
    """Function from a token as the vocabulary spells it (str) to the bytes that it stands for."""
    if "ByteLevel" in step_types(settings):
        alphabet = {ord(character): value for value, character in enumerate(byte_alphabet())}
        # A token with a character outside the alphabet was added by hand: its text is literal.
        return lambda token: (
            bytes(alphabet[ord(c)] for c in token) if all(ord(c) in alphabet for c in token) else token.encode("utf-8")
        )
    if settings["model"].get("type") == "WordPiece":
        prefix = settings["model"].get("continuing_subword_prefix", "##")
        return lambda token: (token[len(prefix) :] if token.startswith(prefix) else " " + token).encode("utf-8")

    def sentencepiece(token: str) -> bytes:
        if re.fullmatch(r"<0x[0-9A-Fa-f]{2}>", token):
            return bytes([int(token[3:5], 16)])
        return token.replace("\u2581", " ").encode("utf-8")

    return sentencepiece


def byte_alphabet() -> list[str]:
    """The character by which byte-level BPE spells each byte: itself if printable in Latin-1, else U+0100 and on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(value) if value in printable else chr(next(others)) for value in range(256)]
