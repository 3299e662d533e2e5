"""A llama-architecture GGUF file turned into a folder that any Hugging Face loader opens.

Out come `model.safetensors`, `config.json`, `generation_config.json`, `tokenizer.json` and `tokenizer_config.json`.
Weights are stored in float32: a 4-bit block value is `scale * q + minimum` with float16 scales, which float16 would
round a second time, and a CPU multiplies in float32 anyway, so the file is used as it is, unconverted, at load.
The formats are described by the GGUF specification (ggml-org/ggml, docs/gguf.md). Needs neither torch nor transformers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from vtc.records.errors import VtcError

CONTROL = 3
"""Token type of a special token in `tokenizer.ggml.token_type`."""

OUTER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
INNER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def convert(gguf_file: str | Path, folder: str | Path) -> None:
    """Write the five files of a model into `folder` (which exists).

    Raises:
        VtcError: the file is not a GGUF file of the llama architecture with a byte-level BPE tokenizer.
    """
    folder = Path(folder)
    try:
        reader = GGUFReader(gguf_file)
        fields = {name: field.contents() for name, field in reader.fields.items()}
    except (ValueError, IndexError, KeyError) as error:
        raise VtcError(f"{gguf_file}: not a GGUF file or damaged ({error}); fetch it again") from error
    kind = (fields.get("general.architecture"), fields.get("tokenizer.ggml.model"), fields.get("tokenizer.ggml.pre"))
    if kind != ("llama", "gpt2", "smollm"):
        raise VtcError(f"{gguf_file}: holds {kind}; only llama weights with the smollm tokenizer are converted")
    tensors = weights(reader, fields)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)  # `save_file` makes it private, unlike the files beside it
    tokenizer(fields).save(str(folder / "tokenizer.json"), pretty=False)
    ends = {name: fields[f"tokenizer.ggml.{name}"] for name in ("bos_token_id", "eos_token_id")}
    ends["pad_token_id"] = fields["tokenizer.ggml.padding_token_id"]
    write_json(folder / "generation_config.json", {"_from_model_config": True, **ends})
    write_json(folder / "config.json", {**config(fields, tied="lm_head.weight" not in tensors), **ends})
    write_json(folder / "tokenizer_config.json", tokenizer_config(fields))


def weights(reader: GGUFReader, fields: dict[str, Any]) -> dict[str, np.ndarray]:
    """All tensors in float32, by the names and in the row order of `LlamaForCausalLM`."""
    heads = {"attn_q": fields["llama.attention.head_count"], "attn_k": fields["llama.attention.head_count_kv"]}
    tensors = {}
    for item in reader.tensors:
        array = dequantize(item.data, item.tensor_type).astype(np.float32, copy=False)  # [out, in] or [d]
        parts = item.name.split(".")  # "blk.7.attn_q.weight" or "token_embd.weight"
        name = parts[-2]
        if parts[0] == "blk":
            if name in heads:
                array = rotary_halves(array, heads[name])
            tensors[f"model.layers.{parts[1]}.{INNER[name]}.weight"] = np.ascontiguousarray(array)
        elif name in OUTER:
            tensors[f"{OUTER[name]}.weight"] = np.ascontiguousarray(array)
    return tensors


def rotary_halves(rows: np.ndarray, heads: int) -> np.ndarray:
    """Reorder query or key rows [heads * d, in] from rotary pairs (0, 1), (2, 3), .. to pairs (i, i + d / 2).

    GGUF keeps the two members of a rotary pair side by side; `LlamaForCausalLM` rotates the two halves of a head.
    """
    pairs = rows.reshape(heads, rows.shape[0] // heads // 2, 2, rows.shape[1])
    return pairs.swapaxes(1, 2).reshape(rows.shape)


def tokenizer(fields: dict[str, Any]) -> Tokenizer:
    """Byte-level BPE whose digits (any Unicode number) stand alone, from the metadata's tokens and merges."""
    tokens: list[str] = fields["tokenizer.ggml.tokens"]
    types: list[int] = fields["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"]]
    built = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges))
    built.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    built.decoder = decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, types, strict=True) if kind == CONTROL]
    built.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    return built


def config(fields: dict[str, Any], tied: bool) -> dict[str, Any]:
    """`config.json` without the ids of special tokens."""
    heads, width = fields["llama.attention.head_count"], fields["llama.embedding_length"]
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": len(fields["tokenizer.ggml.tokens"]),
        "hidden_size": width,
        "intermediate_size": fields["llama.feed_forward_length"],
        "num_hidden_layers": fields["llama.block_count"],
        "num_attention_heads": heads,
        "num_key_value_heads": fields["llama.attention.head_count_kv"],
        "head_dim": width // heads,
        "max_position_embeddings": fields["llama.context_length"],
        "rope_theta": fields["llama.rope.freq_base"],
        "rms_norm_eps": round(fields["llama.attention.layer_norm_rms_epsilon"], 9),  # 1e-5 kept as float32
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": tied,
        "dtype": "float32",
    }


def tokenizer_config(fields: dict[str, Any]) -> dict[str, Any]:
    """`tokenizer_config.json` with the chat template."""
    tokens: list[str] = fields["tokenizer.ggml.tokens"]
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": fields["llama.context_length"],
        "clean_up_tokenization_spaces": False,
        "bos_token": tokens[fields["tokenizer.ggml.bos_token_id"]],
        "eos_token": tokens[fields["tokenizer.ggml.eos_token_id"]],
        "unk_token": tokens[fields["tokenizer.ggml.unknown_token_id"]],
        "pad_token": tokens[fields["tokenizer.ggml.padding_token_id"]],
        "chat_template": fields["tokenizer.chat_template"],
    }


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write indented JSON in UTF-8."""
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
