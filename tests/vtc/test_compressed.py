"""The object that `import vtc` offers: one text, one model and one memory for all questions."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import vtc
from vtc import api
from vtc.llm.frozen import FrozenLM
from vtc.readers.kv.reader import KvReader
from vtc.records.errors import UsageError, VtcError

pytestmark = pytest.mark.usefixtures("byte_table")
TEXT = "".join(f"The wolf number {i * 7919 % 1000} was there. " for i in range(8)).encode()


@pytest.fixture(scope="module")
def tiny(byte_level: ModuleType) -> FrozenLM:
    """A random Llama over the byte-level tokenizer."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    heads: dict[str, Any] = {"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 1200}
    config = LlamaConfig(vocab_size=300, initializer_range=0.5, tie_word_embeddings=False, **sizes, **heads)
    return FrozenLM(LlamaForCausalLM(config), byte_level.vocabulary(), "tiny")


def test_the_package_is_light_and_lists_what_it_offers() -> None:
    code = (
        "import sys, vtc; heavy = {'numpy', 'torch', 'transformers', 'safetensors'};"
        "print(sorted(heavy & set(sys.modules)), {'compress', 'open', 'Compressed'} <= set(dir(vtc)));"
        "vtc.compress; print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    )
    root = Path(__file__).parents[2]
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert shown.stdout == "[] True\n[]\n"
    with pytest.raises(AttributeError, match="module 'vtc' has no attribute 'opne'"):
        vtc.opne  # noqa: B018


def test_in_memory_or_in_a_file_and_back(tmp_path: Path) -> None:
    doc = vtc.compress(TEXT, codec="ids")
    assert doc.restore() == TEXT and doc.info["text_bytes"] == len(TEXT) and doc.reader == "expand"
    filed = vtc.compress(io.BytesIO(TEXT), out=tmp_path / "a.vtc", codec="ids")
    assert filed.info == doc.info and str(tmp_path / "a.vtc") in repr(filed)
    doc.save(tmp_path / "b.vtc")
    stream = io.BytesIO()
    filed.save(stream)
    assert (tmp_path / "a.vtc").read_bytes() == (tmp_path / "b.vtc").read_bytes() == stream.getvalue()
    for document in (tmp_path / "b.vtc", stream.getvalue(), io.BytesIO(stream.getvalue())):
        assert vtc.open(document).restore() == TEXT
    with pytest.raises(UsageError, match="is the input itself"):
        filed.save(tmp_path / "a.vtc")
    assert vtc.open(tmp_path / "a.vtc").restore() == TEXT


def test_one_model_and_one_memory_serve_all_questions(
    tmp_path: Path, tiny: FrozenLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[str] = []
    reads: list[int] = []
    recalls: list[int] = []
    remember, unpacked = KvReader.remember, KvReader.unpacked
    monkeypatch.setattr(api, "load_llm", lambda llm: (loads.append(llm), tiny)[1])
    monkeypatch.setattr(KvReader, "remember", lambda self, ids: (reads.append(len(ids)), remember(self, ids))[1])
    monkeypatch.setattr(KvReader, "unpacked", lambda self, blob: (recalls.append(len(blob)), unpacked(self, blob))[1])
    doc = vtc.compress(TEXT, reader="kv", ratio=4, codec="ids")
    assert doc.info["memory"]["options"]["ratio"] == 4 and doc.reader == "kv"
    pieces: list[str] = []
    answers = [doc.ask(question, max_new_tokens=5, on_text=pieces.append) for question in ("Who?", "What?", "Who?")]
    assert answers[0]["answer"] == answers[2]["answer"] and "".join(pieces[: len(pieces) // 3])
    assert (loads, len(reads), len(recalls)) == ([api.DEFAULT_LLM], 1, 1)
    doc.save(tmp_path / "a.vtc")
    again = vtc.open(tmp_path / "a.vtc")
    assert again.reader == "kv" and loads == [api.DEFAULT_LLM], "the model is loaded before it is asked"
    for answer in answers:
        assert again.ask("Who?", max_new_tokens=5)["answer"] == answers[0]["answer"] and answer["reader"] == "kv"
    assert (len(loads), len(reads), len(recalls)) == (2, 1, 2)


def test_another_reader_or_other_options_when_opened(tmp_path: Path, tiny: FrozenLM) -> None:
    vtc.compress(TEXT, out=tmp_path / "a.vtc", reader="kv", ratio=4, codec="ids", model=tiny)
    assert vtc.open(tmp_path / "a.vtc", reader="text", model=tiny).ask("Who?", max_new_tokens=2)["reader"] == "text"
    found = vtc.open(tmp_path / "a.vtc", ratio=2, model=tiny).ask("Who?", max_new_tokens=2)
    assert found["position_ratio"] == pytest.approx(2, rel=0.1)


def test_what_goes_wrong_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(VtcError, match="no such file"):
        vtc.open(tmp_path / "none.vtc")
    (tmp_path / "a.txt").write_bytes(TEXT)
    with pytest.raises(VtcError, match="is not a vtc document"):
        vtc.open(tmp_path / "a.txt")
    with pytest.raises(UsageError, match="the question is empty"):
        vtc.compress(TEXT, codec="ids").ask(" ")
