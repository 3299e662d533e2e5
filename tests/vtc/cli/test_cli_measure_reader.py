"""`vtc measure --reader` from the command line, on a tiny random model."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vtc import api
from vtc.cli import main
from vtc.llm.frozen import FrozenLM

TEXT = bytes(np.random.default_rng(0).integers(32, 126, 900, np.uint8))


@pytest.fixture
def text(tiny: FrozenLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(api, "load_llm", lambda spec: tiny)
    (tmp_path / "book.txt").write_bytes(TEXT)
    return tmp_path / "book.txt"


def test_the_verb_prints_and_saves(text: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = text.parent / "out"
    common = ["measure", str(text), "--reader", "kv", "--ratios", "2,4", "--tokens", "160", "--next-tokens", "9", "-o"]
    assert main([*common, str(out)]) == 0
    shown = capfd.readouterr().out
    for word in ("context_recovery", "position_ratio", "agreement", "prefills", "sooner", "truncate", "seed 0"):
        assert word in shown
    assert max(map(len, shown.splitlines()[:5])) < 140
    with open(out / "measure.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    names = [("kv", "2.000000"), ("truncate", "2.000000"), ("kv", "4.000000"), ("truncate", "4.000000")]
    assert [(row["reader"], row["ratio"]) for row in rows] == names
    with Image.open(out / "measure.png") as picture:
        assert picture.size[0] > 1000
    assert main([*common, str(out), "--stretches", "2", "--seed", "3", "--json"]) == 0
    found = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert [record["reader"] for record in found["records"]] == [reader for reader, _ in names]
    assert {(record["stretches"], record["seed"]) for record in found["records"]} == {(2, 3)}
    saved = json.loads((out / "measure.json").read_text())
    assert saved == found["records"] and [Path(file).parent for file in found["files"]] == [out] * 3


def test_results_of_a_reader_do_not_replace_those_of_a_codec(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(text.parent)
    options = ["--ratios", "4", "--stretches", "1", "--tokens", "100", "--next-tokens", "9"]
    assert main(["measure", "book.txt", "--reader", "kv", *options]) == 0
    assert [path.name for path in text.parent.iterdir() if path.is_dir()] == ["measure-book-kv"]


def test_options_of_the_other_kind_are_refused(text: Path, capfd: pytest.CaptureFixture[str]) -> None:
    wrong = [
        (["--reader", "kv", "--density", "64"], "--density: is an option of a codec"),
        (["--reader", "kv", "--codec", "ids"], "--codec: is an option of a codec"),
        (["--reader", "kv", "--no-verify"], "--no-verify: is an option of a codec"),
        (["--reader", "kv", "--no-llm"], "--no-llm: is an option of a codec"),
        (["--ratios", "4"], "--ratios: is an option of a reader"),
        (["--next-tokens", "4"], "--next-tokens: is an option of a reader"),
        (["--reader", "expand"], "--reader expand: picks what it reads by a question"),
        (["--reader", "kv", "--ratios", "0.5"], "--ratios 0.5: a ratio is at least 1"),
        (["--reader", "kv", "--tokens", "5000"], "has room for"),
    ]
    for options, words in wrong:
        assert main(["measure", str(text), *options]) == 2
        errors = capfd.readouterr().err
        assert words in errors and errors.count("\n") == 1
    with pytest.raises(SystemExit):
        main(["measure", str(text), "--reader", "kv", "--ratios", "four"])
