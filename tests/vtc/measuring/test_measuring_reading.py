"""Readers measured on a tiny random model, against losses that the model itself tells of the same tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vtc import api
from vtc.llm.frozen import FrozenLM
from vtc.measuring.foresight import Foresight, Reference, Trial, foresee, refer, trial
from vtc.measuring.reading import QUESTION, measure_reader
from vtc.measuring.readrecord import record_of
from vtc.measuring.readshow import reading_table
from vtc.measuring.stretches import Stretch, cut
from vtc.measuring.truncate import LastTokens
from vtc.readers.base import Context
from vtc.readers.kv.reader import RESERVE, KvReader
from vtc.readers.text import TextReader
from vtc.records.errors import UsageError

TEXT = bytes(np.random.default_rng(0).integers(32, 126, 900, np.uint8))
AFTER = 12


def part_of(llm: FrozenLM) -> Stretch:
    (part,) = cut(llm.vocabulary.encode(TEXT[:200].decode()), 1, 500, AFTER, 0, "a")
    return part


def losses(llm: FrozenLM, document: np.ndarray, part: Stretch) -> np.ndarray:
    """Of the last tokens of the whole sequence, read at once."""
    every = np.concatenate([[llm.start], document, part.held_out])
    return llm.nll(every, len(every) - AFTER).numpy()


def test_losses_are_those_of_the_whole_sequence(tiny: FrozenLM) -> None:
    part = part_of(tiny)
    question = np.array([1, 2, 3], np.int32)
    found = refer(tiny, part, question)
    np.testing.assert_allclose(found.none.losses, losses(tiny, part.document[:0], part), atol=1e-4)
    np.testing.assert_allclose(found.full.losses, losses(tiny, part.document, part), atol=1e-4)
    short = trial(LastTokens(tiny, 4), part, question)
    count = round(len(part.document) / 4)
    np.testing.assert_allclose(short.foresight.losses, losses(tiny, part.document[-count:], part), atol=1e-4)
    assert short.positions == count and min(short.prepare_seconds, short.first_token_seconds) > 0
    assert found.prefill_seconds > 0 and found.first_token_seconds > 0


def test_the_greedy_tokens_are_those_that_generation_writes(tiny: FrozenLM) -> None:
    part = part_of(tiny)
    found = refer(tiny, part, part.held_out).full
    for place in (0, 5, AFTER - 1):
        before = np.concatenate([[tiny.start], part.document, part.held_out[: place + 1]])
        with torch.inference_mode():
            best = int(tiny.model(torch.tensor(before)[None]).logits[0, -1, : tiny.vocabulary.size].argmax())
        assert found.greedy[place] == best


def test_reader_kv_at_ratio_1_expects_what_the_full_text_does_and_leaves_its_memory(tiny: FrozenLM) -> None:
    part, question = part_of(tiny), np.array([1], np.int32)
    reader = KvReader(tiny, ratio=1)
    reference, found = refer(tiny, part, question), trial(reader, part, question)
    np.testing.assert_allclose(found.foresight.losses, reference.full.losses, atol=1e-3)
    seen = reader.continuation().cache.get_seq_length()
    again = foresee(tiny, reader.continuation(), part.held_out)
    assert seen == reader.continuation().cache.get_seq_length() == 1 + len(part.document)
    np.testing.assert_allclose(again.losses, found.foresight.losses, atol=1e-5)


def test_a_prompt_of_the_reader_stands_before_what_is_held_out(tiny: FrozenLM) -> None:
    part = part_of(tiny)
    prompt = np.concatenate([[tiny.start], part.document])
    found = foresee(tiny, Context(prompt, len(prompt), []), part.held_out)
    np.testing.assert_allclose(found.losses, losses(tiny, part.document, part), atol=1e-4)


def test_a_record_holds_sums_by_hand(tiny: FrozenLM) -> None:
    parts = [Stretch(np.zeros(96, np.int32), np.zeros(3, np.int32))] * 2

    def made(loss: float, *greedy: int) -> Foresight:
        return Foresight(np.full(2, loss, np.float32), np.array(greedy))

    references = [Reference(made(4, 0, 0), made(1, 7, 8), 2.0, 3.0), Reference(made(6, 0, 0), made(2, 7, 8), 4.0, 5.0)]
    trials = [Trial(made(2, 7, 9), 12.0, 5.0, 0.5), Trial(made(2, 7, 8), 20.0, 7.0, 1.5)]
    found = record_of({"file": "a"}, KvReader(tiny, ratio=6), parts, trials, references, seed=0)
    expected = {
        "file": "a",
        "reader": "kv",
        "ratio": 6,
        "stretches": 2,
        "document_tokens": 96,
        "next_tokens": 2,
        "positions": 16,
        "position_ratio": 192 / 32,
        "context_recovery": (20 - 8) / (20 - 6),
        "context_recovery_low": None,
        "nll": 2,
        "nll_none": 5,
        "nll_full": 1.5,
        "agreement": 3 / 4,
        "prepare_per_prefill": 6 / 3,
        "first_token_speedup": 4 / 1,
    }
    assert {key: found[key] for key in expected} == pytest.approx(expected)


def test_a_file_and_its_document_give_the_same_records(tiny: FrozenLM, tmp_path: Path, byte_table: object) -> None:
    (tmp_path / "a.txt").write_bytes(TEXT)
    api.compress(TEXT, tmp_path / "a.vtc", codec="ids", page_symbols=100)
    files = [tmp_path / "a.txt", tmp_path / "a.vtc"]
    before = tiny.fingerprint()
    found = measure_reader(files, reader="kv", ratios=[4, 2], stretches=2, tokens=300, next_tokens=9, model=tiny)
    assert tiny.fingerprint() == before
    rows = [(row["reader"], row["ratio"]) for row in found]
    assert rows == [("kv", 4), ("truncate", 4), ("kv", 2), ("truncate", 2)] * 2
    for one, other in zip(found[:4], found[4:], strict=True):
        assert one["text_tokens"] == other["text_tokens"] == len(TEXT) and one["stretches"] == 2
        assert one["nll"] == pytest.approx(other["nll"], abs=1e-5)
        assert one["position_ratio"] == pytest.approx(one["ratio"], rel=0.05)
    shown = reading_table(found)
    assert "truncate" in shown and str(files[0]) in shown and "no interval" in shown


def test_reading_all_of_it_agrees_with_itself(tiny: FrozenLM, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(TEXT)
    (found,) = measure_reader([tmp_path / "a.txt"], reader="text", tokens=150, next_tokens=9, model=tiny)
    assert (found["ratio"], found["stretches"], found["position_ratio"], found["agreement"]) == (None, 5, 1, 1)
    assert found["nll"] == found["nll_full"]
    if found["nll_none"] > found["nll_full"]:
        assert found["context_recovery"] == 1 and found["context_recovery_low"] == pytest.approx(1)
    else:
        assert found["context_recovery"] is None and "do not help" in reading_table([found])


def test_the_clock_asks_a_question_that_fits(tiny: FrozenLM, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(TEXT * 2)
    room = max(RESERVE, len(TextReader(tiny).around(QUESTION)[1]))
    most = tiny.window - 2 - room
    options: dict[str, Any] = {"reader": "kv", "ratios": [8], "next_tokens": 9, "model": tiny}
    (found, _) = measure_reader([tmp_path / "a.txt"], tokens=most, **options)
    assert found["document_tokens"] == most
    with pytest.raises(UsageError, match=f"has room for {most} tokens"):
        measure_reader([tmp_path / "a.txt"], tokens=most + 1, **options)


def test_what_can_not_be_measured_is_refused_in_words(tiny: FrozenLM, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(TEXT)
    (tmp_path / "short.txt").write_bytes(TEXT[:50])
    (tmp_path / "empty.txt").write_bytes(b"")
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("a.txt", {"reader": "expand"}, "by a question.*measure text or kv"),
        ("a.txt", {"reader": "kvv"}, "unknown reader .kvv."),
        ("a.txt", {"reader": "text", "ratios": [4]}, "has no ratio"),
        ("a.txt", {"reader": "kv", "ratios": [4, 0.5]}, "--ratios 0.5"),
        ("a.txt", {"reader": "kv", "stretches": 0}, "--stretches 0"),
        ("a.txt", {"reader": "kv", "next_tokens": 0}, "--next-tokens 0"),
        ("a.txt", {"reader": "kv", "next_tokens": 1150}, "--next-tokens 1150: leaves no room"),
        ("a.txt", {"reader": "kv", "merge": "nearby"}, "nearby"),
        ("short.txt", {"reader": "kv"}, "short.txt: holds 50 tokens"),
        ("empty.txt", {"reader": "kv"}, "empty.txt: is empty"),
    ]
    for name, options, words in wrong:
        with pytest.raises(UsageError, match=words):
            measure_reader([tmp_path / name], model=tiny, **options)
    with pytest.raises(UsageError, match="name a file"):
        measure_reader([], reader="kv", model=tiny)
