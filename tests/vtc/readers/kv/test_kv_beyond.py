"""Reader `kv` with documents beyond the window, and what a document file holds of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from vtc.llm.frozen import FrozenLM
from vtc.readers.base import Page
from vtc.readers.kv.bank import bank as module
from vtc.readers.kv.bank.bank import Bank
from vtc.readers.kv.reader import KvReader
from vtc.records.errors import UsageError, VtcError

TEXT = "".join(f"The lamp of house {i} hangs over the door and is {word}.\n\n" for i, word in enumerate("red old" * 3))


@pytest.fixture(autouse=True)
def small_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE_TOKENS", 60)
    monkeypatch.setattr(Bank.of.__func__, "__defaults__", (None, 60, None, False))


def prepared(lm: FrozenLM, **options: int) -> KvReader:
    reader = KvReader(lm, ratio=4, **options)
    text = TEXT.encode()
    reader.prepare([Page(text, lm.vocabulary.encode(TEXT))], {"text_bytes": len(text)}, "a.txt")
    return reader


def test_pages_are_chosen_for_each_question_and_named(lm: FrozenLM) -> None:
    assert len(lm.vocabulary.encode(TEXT)) > lm.window
    reader = prepared(lm, pages=2)
    before = lm.fingerprint()
    first, again = (reader.ask("Which lamp is red?", max_new_tokens=4) for _ in range(2))
    assert first["answer"] == again["answer"] and len(first["passages"]) <= 2
    assert all(0 <= part["start"] < part["stop"] <= len(TEXT) for part in first["passages"])
    tokens = sum(part["stop"] - part["start"] for part in first["passages"])  # the tokenizer's tokens are bytes
    assert first["positions"] == pytest.approx(tokens / 4, rel=0.15)
    assert lm.fingerprint() == before
    with pytest.raises(UsageError, match="a.txt: is longer than the window"):
        reader.continuation()
    with pytest.raises(UsageError, match="leave no room for a page"):
        reader.ask("Which?" * 60, max_new_tokens=4)
    with pytest.raises(UsageError, match="--pages 0"):
        KvReader(lm, pages=0)


def test_a_bank_comes_back_from_its_bytes(lm: FrozenLM) -> None:
    reader = prepared(lm)
    opening, closing = reader.around("Which lamp is red?")
    memory = reader.memory(opening)
    found = reader.unpacked(reader.packed(memory, "float16"))
    bank = memory.cache
    assert isinstance(bank, Bank) and isinstance(found, Bank)
    assert found.texts == bank.texts and found.spans == bank.spans and found.heads == bank.heads
    assert found.choose(closing, "Which lamp is red?") == bank.choose(closing, "Which lamp is red?")
    for one, other in zip(found.assemble([1, 0]).kept, bank.assemble([1, 0]).kept, strict=True):
        torch.testing.assert_close(one.keys, other.keys)
        torch.testing.assert_close(one.bias, other.bias)
        assert one.counts == other.counts


def test_latents_of_one_page_are_no_bank_and_foreign_bytes_are_refused(lm: FrozenLM) -> None:
    reader = KvReader(lm, ratio=4)
    reader.prepare([Page(b"x" * 90, np.full(90, 120, np.int32))], {"text_bytes": 90})
    memory = reader.memory(reader.around("")[0])
    assert not isinstance(reader.unpacked(reader.packed(memory, "float16")), Bank)
    with pytest.raises(VtcError, match="not latents"):
        reader.unpacked(b"something else")
