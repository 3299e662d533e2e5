"""A byte-level BPE tokenizer of 256 bytes and a few merges, and a stand-in for its glyph table."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from vtc import api
from vtc.cli import main
from vtc.llm.vocabulary import Vocabulary

NAME = "byte-level"
MERGES = [("t", "h"), ("th", "e"), ("Ġ", "the"), ("i", "n"), ("e", "r"), ("a", "n"), ("Ġ", "a"), ("Ġ", "w"), ("o", "r")]


def byte_letters() -> list[str]:
    """The letter that stands for each byte: itself where Latin-1 prints it, else the next from U+0100 on (GPT-2)."""
    printed = {*range(33, 127), *range(161, 173), *range(174, 256)}
    hidden = [value for value in range(256) if value not in printed]
    return [chr(value) if value in printed else chr(256 + hidden.index(value)) for value in range(256)]


def vocabulary(without: bytes = b"") -> Vocabulary:
    """The tokenizer; like SmolLM2's it may lack some bytes, which it then drops from the text."""
    tokens = [character for value, character in enumerate(byte_letters()) if value not in without]
    tokens += ["".join(pair) for pair in MERGES]
    settings = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "vocab": {token: i for i, token in enumerate(tokens)},
            "merges": [list(pair) for pair in MERGES],
        },
    }
    return Vocabulary(settings, NAME)


class Table:
    """What documents, codecs and page images need of a glyph table; features and images are random."""

    cell = (16, 32)

    def __init__(self, words: Vocabulary) -> None:
        random = np.random.default_rng(0)
        features = random.normal(size=(words.size, 128)).astype(np.float32)
        self.features = features / np.linalg.norm(features, axis=1, keepdims=True)
        self.images = random.integers(0, 256, (words.size, 64), np.uint8)
        self.vocabulary_hash = words.hash
        self.hash = "0123456789abcdef" * 4
        self.decode = words.decode

    def __len__(self) -> int:
        return len(self.features)


def install(monkeypatch: object = None, without: bytes = b"") -> Table:
    """Let `vtc.api` load these two, whatever LLM is asked for."""
    words = vocabulary(without)
    table = Table(words)
    put = setattr if monkeypatch is None else monkeypatch.setattr  # type: ignore[attr-defined]
    put(api, "load_vocabulary", lambda llm: words)
    put(api, "load_table", lambda llm: table)
    return table


if __name__ == "__main__":  # the command `vtc` with these two, as a process of its own
    sys.path.insert(0, str(Path(__file__).parent))
    install()
    sys.exit(main())
