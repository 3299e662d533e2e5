"""The conversion from GGUF: ids against a BPE written here, weights against another reader and the rotary formula."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from vtc.llm.convert import convert, rotary_halves
from vtc.llm.spelling import byte_alphabet
from vtc.llm.vocabulary import Vocabulary
from vtc.records.errors import VtcError

TEXTS = [
    "The capital of France is",
    "In 1984 there were 3,141,592 'sheep', weren't there? They'll say I'd've 12kg of x2 = y_1.",
    "  two  spaces   three\n\n\tdef f(x):\n        return x**2  # comment \n\n\n",
    "CamelCaseIdentifier snake_case_name __init__ 0xDEADBEEF https://example.org/a?b=c&d=%20",
    "naïve façade Ångström ἀρχή Ψυχή Привет, мир! Ёлка",
    "日本語のテキスト、かな漢字。 한국어 문장입니다. 中文文本没有空格",
    "emoji 👩‍👩‍👧‍👦 and 🇫🇷 flags, ½ ² Ⅷ ٣٤ १२",
    "'s 't 'll at line start; don't DON'T O'Brien '' '''",
    "<|im_start|>user\nhello<|im_end|>",
    "1 2  3   45\u00a067\u3000x\r\n",
    "\x00\x01\x7f\ue000\U0010fffd\u0378",
]


def gpt2_words(text: str) -> list[str]:
    """GPT-2's words after every number character (category N) has been cut out as a piece of its own.

    GPT-2's rule, by character classes: a contraction, or an optional space and a run of letters, or one of other marks,
    or white space, of which the last character is left to the next word.
    """
    words: list[str] = []
    for piece in re.split(
        "([" + "".join(sorted({c for c in text if unicodedata.category(c)[0] == "N"})) + "\U0010ffff])", text
    ):
        kinds = "".join(
            " " if c == " " else "S" if c.isspace() else "L" if unicodedata.category(c)[0] == "L" else "O"
            for c in piece
        )
        if len(piece) == 1 and unicodedata.category(piece)[0] == "N":
            words.append(piece)
            continue
        at = 0
        while at < len(piece):
            found = re.compile("'(?:s|t|re|ve|m|ll|d)").match(piece, at) or re.compile(
                " ?L+| ?O+|[ S]+(?![^ S])|[ S]+"
            ).match(kinds, at)
            assert found is not None
            words.append(piece[at : found.end()])
            at = found.end()
    return words


def merged(word: str, ranks: dict[tuple[str, str], int]) -> list[str]:
    """Byte-pair encoding of one word: again and again the adjacent pair learned first (Sennrich et al. 2016)."""
    alphabet = byte_alphabet()
    parts = [alphabet[value] for value in word.encode()]
    while len(parts) > 1:
        pairs = list(zip(parts, parts[1:], strict=False))
        best = min(pairs, key=lambda pair: ranks.get(pair, 1 << 30))
        if best not in ranks:
            break
        joined, at = [], 0
        while at < len(parts):
            hit = tuple(parts[at : at + 2]) == best
            joined.append("".join(best) if hit else parts[at])
            at += 2 if hit else 1
        parts = joined
    return parts


@lru_cache(maxsize=1)
def model_of(path: Path) -> tuple[dict[str, int], dict[tuple[str, str], int]]:
    """Ids and merge ranks of a tokenizer file."""
    model = json.loads(path.read_text(encoding="utf-8"))["model"]
    pairs = [tuple(merge) if isinstance(merge, list) else tuple(merge.split(" ")) for merge in model["merges"]]
    return model["vocab"], {pair: rank for rank, pair in enumerate(pairs)}


@pytest.mark.parametrize("text", TEXTS)
def test_ids_follow_from_the_merges(llm_folder: Path, vocabulary: Vocabulary, text: str) -> None:
    vocab, ranks = model_of(llm_folder / "tokenizer.json")
    assert (len(vocab), len(ranks)) == (49152, 48900)
    assert len({*ranks.values()}) == 48900
    expected = [vocab[part] for word in gpt2_words(text) for part in merged(word, ranks) if part in vocab]
    assert vocabulary.encode(text).tolist() == expected


def test_the_folder_opens_with_transformers_as_it_is(llm_folder: Path, vocabulary: Vocabulary) -> None:
    tokenizer = AutoTokenizer.from_pretrained(llm_folder)
    for text in TEXTS:
        if "<|" not in text:
            assert tokenizer(text).input_ids == vocabulary.encode(text).tolist()
    assert tokenizer("a<|im_end|>").input_ids == [*vocabulary.encode("a").tolist(), 2]
    assert tokenizer.eos_token == "<|im_end|>"


def test_rotary_rows_give_the_same_attention_scores() -> None:
    """Interleaved rotation of the stored rows is the half-and-half rotation of the reordered ones."""
    random = np.random.default_rng(0)
    heads, size, width = 3, 8, 5
    query, key = random.normal(size=(2, heads * size, width))
    x, y = random.normal(size=(2, width))
    angles = 10000.0 ** (-np.arange(size // 2) * 2 / size)

    def interleaved(v: np.ndarray, position: int) -> np.ndarray:
        z = (v[0::2] + 1j * v[1::2]) * np.exp(1j * position * angles)
        return np.concatenate([z.real, z.imag])

    def halves(v: np.ndarray, position: int) -> np.ndarray:
        z = (v[: size // 2] + 1j * v[size // 2 :]) * np.exp(1j * position * angles)
        return np.concatenate([z.real, z.imag])

    stored = [(rows @ v).reshape(heads, size) for rows, v in ((query, x), (key, y))]
    turned = [(rotary_halves(rows, heads) @ v).reshape(heads, size) for rows, v in ((query, x), (key, y))]
    for head in range(heads):
        expected = interleaved(stored[0][head], 7) @ interleaved(stored[1][head], 3)
        assert np.isclose(halves(turned[0][head], 7) @ halves(turned[1][head], 3), expected)


def write_gguf(path: Path, architecture: str = "llama") -> Path:
    """A GGUF file of random weights: 2 layers, 4 heads over 2 of keys, width 64, 256 bytes and two special tokens."""
    width, inner, heads, groups = 64, 96, 4, 2
    tokens = [*byte_alphabet(), "<|im_start|>", "<|im_end|>", "ab", "12"]
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(2)
    writer.add_context_length(128)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(groups)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([1] * 256 + [3, 3, 1, 1])
    writer.add_token_merges(["a b", "1 2"])
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(257)
    writer.add_unk_token_id(256)
    writer.add_pad_token_id(257)
    writer.add_vocab_size(len(tokens))
    writer.add_chat_template("{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}")
    random = np.random.default_rng(1)

    def tensor(name: str, *shape: int) -> None:
        values = random.normal(size=shape).astype(np.float32) / 8
        writer.add_tensor(f"{name}.weight", gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q8_0), raw_dtype=8)

    tensor("token_embd", len(tokens), width)
    writer.add_tensor("output_norm.weight", np.ones(width, np.float32))
    for layer in range(2):
        rows = {"attn_q": width, "attn_k": width // 2, "attn_v": width // 2, "attn_output": width}
        for name, count in (*rows.items(), ("ffn_gate", inner), ("ffn_up", inner)):
            tensor(f"blk.{layer}.{name}", count, width)
        tensor(f"blk.{layer}.ffn_down", width, inner)
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", random.normal(1, 0.1, width).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_weights_equal_those_of_another_reader(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "tiny.gguf")
    folder = tmp_path / "converted"
    folder.mkdir()
    convert(path, folder)
    ours = AutoModelForCausalLM.from_pretrained(folder)
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file=path.name, dtype=torch.float32)
    ids = torch.arange(40)[None]
    with torch.inference_mode():
        torch.testing.assert_close(ours(ids).logits, theirs(ids).logits, rtol=0, atol=0)
    assert ours.generation_config.eos_token_id == 257
    ids = Vocabulary.load(folder).encode("xab<|im_end|>12").tolist()
    assert ids == [ord("x"), 258, *b"<|im_end|>", ord("1"), ord("2")]  # digits stay apart although a merge joins them


@pytest.mark.parametrize("content", [b"", b"GGUF", b"PK\x03\x04 not a model" * 9])
def test_a_foreign_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.gguf").write_bytes(content)
    with pytest.raises(VtcError, match=r"x\.gguf: not a GGUF file"):
        convert(tmp_path / "x.gguf", tmp_path)


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VtcError, match="only llama weights"):
        convert(write_gguf(tmp_path / "x.gguf", "gpt2"), tmp_path)
