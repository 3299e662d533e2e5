"""The vocabulary: round trips over all of Unicode, other kinds of tokenizers, hashes, errors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from vtc.llm.vocabulary import Vocabulary
from vtc.records.errors import VtcError

UNICODE = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]


def kept(text: str, vocabulary: Vocabulary) -> bytes:
    """The text's bytes without those that the vocabulary has no token for."""
    return text.encode().translate(None, delete=vocabulary.missing_bytes)


def test_round_trip_of_every_code_point(vocabulary: Vocabulary) -> None:
    for step in (1, 7919):  # neighbours stand together in the first pass, strangers in the second
        points = [UNICODE[i * step % len(UNICODE)] for i in range(len(UNICODE))]
        texts = ["".join(points[start : start + 8192]) for start in range(0, len(points), 8192)]
        for text, ids in zip(texts, vocabulary.encode_batch(texts), strict=True):
            assert ids.dtype == np.int32
            assert vocabulary.decode(ids) == kept(text, vocabulary)


def test_every_assigned_character_is_whole_but_for_six_controls(vocabulary: Vocabulary) -> None:
    """Which bytes are missing decides which characters lose something."""
    never_in_utf8 = {0xC0, 0xC1, *range(0xF5, 0x100)}
    assert set(vocabulary.missing_bytes) - never_in_utf8 == {4, 6, 0x13, 0x14, 0x16, 0x1D, 0xF1, 0xF2}
    lost = [c for c in UNICODE if kept(c, vocabulary) != c.encode()]
    assert [c for c in lost if c < "\U00040000"] == list("\x04\x06\x13\x14\x16\x1d")
    assert lost[-1] == "\U000bffff"  # planes 4 to 11, where nothing is assigned


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=200))
def test_round_trip_of_any_text(vocabulary: Vocabulary, text: str) -> None:
    assert vocabulary.decode(vocabulary.encode(text)) == kept(text, vocabulary)


@settings(max_examples=100, deadline=None)
@given(ids=st.lists(st.integers(0, 49151), max_size=300))
def test_decoding_joins_the_bytes_of_the_tokens(vocabulary: Vocabulary, ids: list[int]) -> None:
    assert vocabulary.decode(ids) == b"".join(vocabulary.token_bytes[i] for i in ids)


def test_decoding_in_chunks(vocabulary: Vocabulary) -> None:
    ids = np.random.default_rng(0).integers(0, vocabulary.size, 600_000)
    assert vocabulary.decode(ids) == b"".join(map(vocabulary.token_bytes.__getitem__, ids.tolist()))


@pytest.mark.parametrize(
    "text", ["", "\0", "\r\n\r\n", "a" * 100_000, "e" + "\u0301" * 1000, "\u202e\u05d0", "\ue000\U0010ffff"]
)
def test_odd_texts(vocabulary: Vocabulary, text: str) -> None:
    assert vocabulary.decode(vocabulary.encode(text)) == text.encode()


def test_special_tokens_in_a_text_are_plain_characters(vocabulary: Vocabulary) -> None:
    assert len(vocabulary.specials) == 17
    for literal, i in vocabulary.specials.items():
        assert vocabulary.token_bytes[i] == literal.encode()
        for ids in (vocabulary.encode(f"a{literal}b"), vocabulary.encode(literal), *vocabulary.encode_batch([literal])):
            assert not set(ids.tolist()) & set(vocabulary.specials.values())
        assert vocabulary.decode(vocabulary.encode(literal)) == literal.encode()


def test_a_lone_surrogate_becomes_the_replacement_character(vocabulary: Vocabulary) -> None:
    assert vocabulary.decode(vocabulary.encode("a\ud800b")) == "a\ufffdb".encode()


@pytest.mark.parametrize("ids", [[-1], [0, 49152]])
def test_an_id_outside_the_vocabulary_is_named(vocabulary: Vocabulary, ids: list[int]) -> None:
    with pytest.raises(VtcError, match=r"exceed .*0 to 49151"):
        vocabulary.decode(ids)


def test_hash_follows_the_bytes(tiny_folder: Path) -> None:
    content = json.loads((tiny_folder / "tokenizer.json").read_text())
    first = Vocabulary(content, "a")
    assert Vocabulary(content, "b").hash == first.hash
    content["added_tokens"][1]["content"] = "<|End|>"
    assert Vocabulary(content, "a").hash != first.hash


def test_nothing_heavy_is_imported(tiny_folder: Path) -> None:
    code = (
        "import sys; from vtc.llm.vocabulary import Vocabulary; Vocabulary.load(sys.argv[1]).encode('a');"
        "print(*({'torch', 'transformers', 'gguf', 'huggingface_hub'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tiny_folder)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("content", ["", "{}", '{"model": {"type": "No"}}'])
def test_a_broken_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(VtcError, match="tokenizer.json: not a readable tokenizer") as caught:
        Vocabulary.load(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_folder_without_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(VtcError, match="tokenizer.json: no such file"):
        Vocabulary.load(tmp_path)


def built(tokenizer: Tokenizer) -> Vocabulary:
    """Vocabulary of a tokenizer made in a test."""
    content: dict[str, Any] = json.loads(tokenizer.to_str())
    return Vocabulary(content, "built")


@settings(max_examples=100, deadline=None)
@given(text=st.text(max_size=60).filter(lambda text: "\u2581" not in text))
def test_sentencepiece_bpe_with_byte_fallback(text: str) -> None:
    pieces = [
        "<unk>",
        "<s>",
        *(f"<0x{value:02X}>" for value in range(256)),
        "\u2581",
        "a",
        "b",
        "\u2581a",
        "\u00e9",
        "\u00e9\u00e9",
    ]
    tokenizer = Tokenizer(
        models.BPE(
            {piece: i for i, piece in enumerate(pieces)},
            [("\u2581", "a"), ("\u00e9", "\u00e9")],
            unk_token="<unk>",
            byte_fallback=True,
            fuse_unk=True,
        )
    )
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_special_tokens([AddedToken("<s>", special=True)])
    vocabulary = built(tokenizer)
    assert vocabulary.token_bytes[pieces.index("<0xE9>")] == b"\xe9"
    assert vocabulary.token_bytes[pieces.index("\u2581a")] == b" a"
    assert vocabulary.decode(vocabulary.encode(text + " a\u00e9\u00e9<s>")) == (text + " a\u00e9\u00e9<s>").encode()


def test_metaspace_puts_no_space_before_the_text() -> None:
    tokenizer = Tokenizer(
        models.BPE({"<unk>": 0, "\u2581": 1, "a": 2, "\u2581a": 3}, [("\u2581", "a")], unk_token="<unk>")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    assert built(tokenizer).encode("a a").tolist() == [2, 3]


def test_byte_level_neither_normalises_nor_takes_added_tokens_from_a_text(tiny_folder: Path) -> None:
    tokenizer = Tokenizer.from_file(str(tiny_folder / "tokenizer.json"))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.add_tokens([AddedToken("<think>", special=False), AddedToken("    ", special=False, normalized=False)])
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=9)
    vocabulary = built(tokenizer)
    assert vocabulary.decode(vocabulary.encode("e\u0301 <think>")) == "e\u0301 <think>".encode()
    assert vocabulary.specials["<think>"] not in vocabulary.encode("<think>")
    assert vocabulary.encode("    ").tolist() == [
        tokenizer.token_to_id("    ")
    ]  # white space opens no turn and saves tokens


def test_wordpiece_tells_beginnings_from_continuations() -> None:
    tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "play": 1, "##ing": 2, "ing": 3}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    vocabulary = built(tokenizer)
    assert vocabulary.decode(vocabulary.encode("playing ing")) == b" playing ing"
