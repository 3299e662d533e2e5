"""What is on the clock in each way, seen by what the model reads; on a tiny random model."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from eval import latency
from eval.csvfile import read_rows
from vtc import api
from vtc.llm.frozen import FrozenLM

TEXT = bytes(np.random.default_rng(0).integers(97, 122, 300, np.uint8))


@pytest.fixture
def reads(tiny: FrozenLM, byte_table: object, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Tokens of every prefill, and of every step of an answer."""
    found: list[int] = []
    for name, count in (("prefill", lambda ids, *_, **__: len(ids)), ("_forward", lambda ids, *_: ids.shape[1])):
        real = getattr(tiny, name)

        def spy(*given: Any, real: Any = real, count: Any = count, **options: Any) -> Any:
            found.append(count(*given, **options))
            return real(*given, **options)

        monkeypatch.setattr(tiny, name, spy)
    return found


def test_only_reading_again_reads_the_document(tiny: FrozenLM, reads: list[int], tmp_path: Path) -> None:
    path = tmp_path / "a.vtc"
    api.compress(TEXT, path, model=tiny, reader="kv", ratio=4, codec="ids")
    works = latency.ways(TEXT, path, tiny)
    opening, closing = map(len, api.prepare(path, reader="kv", model=tiny).around(latency.QUESTION))
    document = len(tiny.vocabulary.encode(TEXT.decode()))
    for _ in range(2):  # the second time is not cheaper than the first
        seen = {}
        for way, work in works.items():
            reads.clear()
            assert work() > 0
            seen[way] = list(reads)
        assert seen == {"reread": [opening + document, closing], "memory": [closing], "disk": [closing]}


def test_a_row_holds_medians_and_what_they_are_relative_to(
    tiny: FrozenLM, byte_table: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = {
        "reread": iter([60.0, 20.0, 40.0]),
        "memory": iter([9.0, 2.0, 4.0, 5.0]),
        "disk": iter([1.0, 8.0, 5.0, 9.0]),
    }
    monkeypatch.setattr(latency, "ways", lambda *_: {way: lambda way=way: next(taken[way]) for way in taken})
    row = latency.measure(TEXT, tiny, 4, "int8", rounds=3)
    assert (row["reread_seconds"], row["memory_seconds"], row["disk_seconds"]) == (
        median([60, 20, 40]),
        median([2, 4, 5]),  # the first of each is off the clock
        median([8, 5, 9]),
    )
    assert row["memory_times_sooner"] == 40 / 4 and row["disk_times_sooner"] == 40 / 8
    assert row["compress_per_reread"] == row["compress_seconds"] / 40  # type: ignore[operator]
    assert row["document_tokens"] == len(TEXT) and row["position_ratio"] == pytest.approx(4, rel=0.1)
    assert (row["dtype"], row["latents"], row["rounds"]) == ("float32", "int8", 3)


def test_the_command_writes_a_file_that_names_its_conditions(
    tiny: FrozenLM,
    byte_table: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(latency.FrozenLM, "load", lambda: tiny)
    monkeypatch.setattr(latency.torch, "set_num_threads", lambda count: None)
    common = ["--out", str(tmp_path), "--threads", "1"]
    assert latency.main(["--tokens", "200", "300", "--rounds", "1", "--ratio", "4", *common]) == 0
    path = tmp_path / "latency_manual-200-300_ratio-4_1-threads_float32-llm.csv"
    assert capsys.readouterr().out.strip() == str(path)
    sizes = [int(row["document_tokens"]) for row in read_rows(path)]
    assert sizes == pytest.approx([200, 300], rel=0.1)
    for wrong, words in (["--rounds", "0"], "--rounds 0"), (["--tokens", "1190"], "exceed the window"):
        assert latency.main([*wrong, *common]) == 2
        assert words in capsys.readouterr().err
