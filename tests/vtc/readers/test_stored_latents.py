"""A document that holds a reader's latents: made once, used without reading, refused where they can not serve."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaForCausalLM

from vtc import api
from vtc.document import Document
from vtc.llm.frozen import FrozenLM
from vtc.readers.base import Page
from vtc.readers.kv.reader import KvReader
from vtc.readers.memory import key_of
from vtc.records.errors import UsageError, VerificationError, VtcError

pytestmark = pytest.mark.usefixtures("byte_table")
TEXT = "".join(f"The wolf number {i * 7919 % 1000} was there. " for i in range(12)).encode()
QUESTION = "Which wolf?"


@pytest.fixture(scope="module")
def tiny(tiny_folder: Path) -> FrozenLM:
    return FrozenLM.load(tiny_folder, device="cpu")


@pytest.fixture
def document(tmp_path: Path, tiny: FrozenLM) -> Path:
    api.compress(TEXT, tmp_path / "a.vtc", codec="ids", page_symbols=100, reader="kv", ratio=4, model=tiny)
    return tmp_path / "a.vtc"


def test_what_is_said_about_them(document: Path, tiny: FrozenLM) -> None:
    memory = api.info(document)["memory"]
    opening, _ = tiny.chat_around("Read this text.\n\n", "")
    plain = KvReader(tiny, ratio=4)
    plain.prepare([Page(TEXT, tiny.vocabulary.encode(TEXT.decode()))], {"text_bytes": len(TEXT)})
    kept = plain.memory(opening)
    with Document(document) as found:
        size = len(found.memory())
    assert {key: memory[key] for key in ("reader", "form", "llm", "text_tokens", "spans", "stored_bytes")} == {
        **{"reader": "kv", "form": "float16", "llm": "tiny", "text_tokens": len(TEXT)},
        **{"spans": [[0, len(TEXT)]], "stored_bytes": size},
    }
    assert memory["options"]["ratio"] == 4 and memory["options"]["rows"] is None
    assert (memory["fingerprint"], memory["opening"]) == (tiny.fingerprint(), key_of(opening))
    assert memory["positions"] == kept.positions and memory["position_ratio"] == len(TEXT) / kept.positions


@pytest.mark.parametrize("form", ["float32", "float16"])
def test_the_answer_is_that_of_latents_made_anew(tmp_path: Path, tiny: FrozenLM, form: str) -> None:
    path, bare = tmp_path / "a.vtc", tmp_path / "b.vtc"
    api.compress(TEXT, path, codec="ids", reader="kv", ratio=4, model=tiny, latents=form)
    api.compress(TEXT, bare, codec="ids")
    stored, made = (api.prepare(file, reader="kv", model=tiny, ratio=4) for file in (path, bare))
    for question in (QUESTION, "Who was there, and when?"):
        found, expected = (reader.ask(question, max_new_tokens=12) for reader in (stored, made))
        for key in ("answer", "positions", "position_ratio", "pages_read", "passages", "text_tokens", "sha256"):
            assert found[key] == expected[key], key
    losses = []
    for reader in (stored, made):
        context = reader.context(QUESTION, 8)
        losses.append(tiny.choices_nll(context.prompt, [np.arange(60, 80)], context.cache)[0])
    assert torch.equal(*losses) if form == "float32" else torch.allclose(*losses, atol=0.05)
    assert not torch.equal(losses[0], losses[0].flip(0))


@pytest.mark.parametrize("options", [{}, {"ratio": 4}])
def test_they_are_used_without_decoding_or_reading(
    document: Path, tiny: FrozenLM, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "load_table", lambda _: pytest.fail("something is decoded"))
    monkeypatch.setattr(KvReader, "remember", lambda *_: pytest.fail("the text is read"))
    notes: list[str] = []
    for source in (document, document.read_bytes(), io.BytesIO(document.read_bytes())):
        found = api.ask(source, QUESTION, reader="kv", model=tiny, on_note=notes.append, max_new_tokens=4, **options)
        assert found["pages_read"] == list(range(1, api.info(document)["pages"] + 1)) and found["reader"] == "kv"
    assert notes == []


def test_other_options_have_them_made_anew(document: Path, tiny: FrozenLM) -> None:
    notes: list[str] = []
    found = api.ask(document, QUESTION, reader="kv", model=tiny, on_note=notes.append, max_new_tokens=4, ratio=2)
    assert notes == [f"{document}: holds latents of ratio 4, not 2; they are made anew from the text"]
    assert found["position_ratio"] == pytest.approx(2, rel=0.1)


def test_another_reader_does_not_care(document: Path, tiny: FrozenLM) -> None:
    bare = io.BytesIO()
    api.compress(TEXT, bare, codec="ids", page_symbols=100)
    found, expected = (api.ask(source, "wolf", model=tiny, max_new_tokens=4) for source in (document, bare.getvalue()))
    assert found["passages"] == expected["passages"] and api.restore(document) == TEXT


def test_another_opening_reads_the_text_after_all(document: Path, tiny: FrozenLM) -> None:
    ids = np.array([65, 66, 67], np.int32)
    bare = io.BytesIO()
    api.compress(TEXT, bare, codec="ids", page_symbols=100)
    stored = api.prepare(document, reader="kv", model=tiny)
    plain = api.prepare(bare.getvalue(), reader="kv", model=tiny, ratio=4)
    found, expected = stored.continuation(ids), plain.continuation(ids)
    assert found.positions == expected.positions and found.cache.get_seq_length() == 3 + len(TEXT)
    for kept, other in zip(found.cache.kept, expected.cache.kept, strict=True):
        assert torch.equal(kept.keys, other.keys) and torch.equal(kept.index, other.index)


def test_another_model_is_refused(document: Path, tiny_folder: Path, tiny: FrozenLM) -> None:
    torch.manual_seed(9)
    other = FrozenLM(LlamaForCausalLM(tiny.model.config), tiny.vocabulary, "other", tiny._renderer)
    message = (
        rf"a\.vtc: its latents were made with 'tiny' \({tiny.fingerprint()[:12]}\) and this model is 'other' "
        rf"\({other.fingerprint()[:12]}\); name that model with --llm, or compress the text again"
    )
    with pytest.raises(VtcError, match=message):
        api.ask(document, QUESTION, reader="kv", model=other)
    assert api.ask(document, QUESTION, reader="kv", model=other, ratio=3, max_new_tokens=2)["reader"] == "kv"


def test_damaged_latents_are_named_and_the_text_stays_readable(document: Path, tiny: FrozenLM) -> None:
    data = bytearray(document.read_bytes())
    data[-100] ^= 1
    document.write_bytes(data)
    with pytest.raises(VerificationError, match=r"a\.vtc: its latents for reader 'kv' are damaged"):
        api.ask(document, QUESTION, reader="kv", model=tiny)
    assert api.restore(document) == TEXT
    assert api.ask(document, "wolf", model=tiny, max_new_tokens=2)["reader"] == "expand"


def test_latents_of_a_newer_program_are_named_with_their_file(
    document: Path, tiny: FrozenLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vtc.readers.kv.storage.VERSION", 7)
    with pytest.raises(VtcError, match=r"a\.vtc: latents of format 1 and this program reads 7; upgrade vtc-llm"):
        api.ask(document, QUESTION, reader="kv", model=tiny)


def test_a_text_beyond_the_window_is_held_as_pages(tmp_path: Path, tiny: FrozenLM) -> None:
    path = tmp_path / "long.vtc"
    record = api.compress(TEXT * 5, path, codec="ids", model=tiny, reader="kv", ratio=4)
    assert record["text_tokens"] > tiny.window
    fresh = api.ask(TEXT * 5, QUESTION, reader="kv", ratio=4, model=tiny, max_new_tokens=4)
    held = api.ask(path, QUESTION, reader="kv", model=tiny, max_new_tokens=4)
    assert held["passages"] == fresh["passages"] and 1 <= len(held["passages"]) <= 2
    assert held["positions"] == pytest.approx(fresh["positions"])
    assert api.restore(path) == TEXT * 5


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (TEXT, {"reader": "text"}, "reader 'text' keeps nothing that a document can hold; use --reader kv"),
        (TEXT, {"reader": "expand"}, "reader 'expand' keeps nothing that a document can hold"),
        (TEXT, {"reader": "kw"}, "unknown reader 'kw'"),
        (TEXT, {"reader": "kv", "latents": "int4"}, "--latents int4: choose"),
        (TEXT, {"reader": "kv", "ratio": 0.5}, "ratio=0.5: must be at least 1"),
        (TEXT, {"reader": "kv", "ratoi": 5}, "unknown option of codec 'ids' 'ratoi'"),
        (TEXT, {"ratio": 5}, "unknown option of codec 'ids' 'ratio'"),
        (b"", {"reader": "kv"}, "the input: is empty"),
    ],
)
def test_what_can_not_be_held_leaves_no_file(
    tmp_path: Path, tiny: FrozenLM, text: bytes, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        api.compress(text, tmp_path / "a.vtc", codec="ids", model=tiny, **options)
    assert not list(tmp_path.iterdir())


def test_a_text_too_long_is_refused_while_it_is_folded(
    tmp_path: Path, tiny: FrozenLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def admit(reader: KvReader, tokens: int) -> None:
        seen.append(tokens)
        if tokens > 3000:
            raise UsageError("too long")

    monkeypatch.setattr(KvReader, "admit", admit)
    with pytest.raises(UsageError, match="too long"):
        api.compress(TEXT * 1000, tmp_path / "a.vtc", codec="ids", page_symbols=500, reader="kv", model=tiny)
    assert seen == sorted(seen) and max(seen) < 6000
