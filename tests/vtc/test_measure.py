"""`vtc measure`: what it states is what came back, beside baselines computed here another way."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import zstandard
from PIL import Image

from vtc import api, measuring
from vtc.cli import main
from vtc.codecs.base import DecodedPage
from vtc.codecs.ids import IdsCodec
from vtc.measuring import cost
from vtc.records.errors import UsageError, VtcError

TEXT = ("The 3 wolves of utf8 thought about 1976, there in the warm water.\n" * 40).encode()
PAGE = 500


class Stub:
    """An LLM that counts what it reads."""

    window = 8192

    def __init__(self) -> None:
        self.read: list[int] = []

    def prefill(self, ids: np.ndarray) -> None:
        self.read.append(len(ids))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_bytes(TEXT)
    return tmp_path / "text.txt"


@pytest.fixture
def table(byte_table: object, monkeypatch: pytest.MonkeyPatch) -> object:
    """The byte-level tokenizer and its table; no LLM is looked for."""
    monkeypatch.setattr("vtc.measuring.runs.check_llm", lambda spec: None)
    return byte_table


@pytest.fixture
def llm(monkeypatch: pytest.MonkeyPatch) -> Stub:
    stub = Stub()
    monkeypatch.setattr(api, "load_llm", lambda spec: stub)
    return stub


def measure(path: Path, **options: object) -> list[dict[str, object]]:
    return measuring.measure([path], page_symbols=PAGE, with_llm=False, **options)


def test_sizes_and_ratios_of_a_lossless_codec(text: Path, table: object, byte_level: ModuleType) -> None:
    (found,) = measure(text, codec="ids")
    document = io.BytesIO()
    api.compress(text, document, codec="ids", page_symbols=PAGE)
    size, tokens = len(document.getvalue()), len(byte_level.vocabulary().encode(TEXT.decode()))
    expected = {
        "file": str(text),
        "codec": "ids",
        "text_bytes": len(TEXT),
        "text_tokens": tokens,
        "pages": -(-tokens // PAGE),
        "document_bytes": size,
        "latent_ratio": 1.0,
        "position_ratio": None,
        "byte_ratio": len(TEXT) / size,
        "bits_per_token": 8 * size / tokens,
        "latent_bits_per_token": 16.0,
        "side_bits_per_token": pytest.approx(8 * size / tokens - 16),
        "raw_ids_bytes": 2 * tokens,
        "raw_ids_byte_ratio": len(TEXT) / (2 * tokens),
        "zstd19_bytes": len(zstandard.compress(TEXT, 19)),
        "exact": True,
        "exact_pages": -(-tokens // PAGE),
        "char_accuracy_mean": 1.0,
        "digit_word_recall": 1.0,
        "unverified_exact_pages": None,
        "encode_no_verify_seconds": None,
        "prefill_seconds": None,
        "restore_vs_prefill": None,
    }
    assert {key: found[key] for key in expected} == expected
    assert found["encode_seconds"] > 0 and found["restore_seconds"] > 0
    json.dumps(found, allow_nan=False)


class Lossy(IdsCodec):
    """Takes every symbol 3 on a page's last place for symbol 4."""

    def decode(self, pages: object) -> list[DecodedPage]:
        decoded = super().decode(pages)
        decoded[0].ids[-1] ^= 1  # the first page of a batch loses its last symbol
        return decoded


def test_what_does_not_come_back_is_counted(text: Path, table: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "lookup", lambda registry, name, kind: Lossy)
    (found,) = measure(text, codec="lossy")
    assert found["exact"] is False and found["exact_pages"] == found["pages"] - 1
    # One page of PAGE symbols differs in one symbol of 1 to 4 characters; all others are equal.
    lost = (1 - found["char_accuracy_mean"]) * found["pages"]
    assert 0.5 / (4 * PAGE) < lost < 4 / PAGE
    assert found["char_accuracy_median"] == 1.0 and found["char_accuracy_p5"] < 1.0


def test_a_verified_document_is_exact_and_the_same_folding_unverified_is_not(text: Path, table: object) -> None:
    grid = {"density": [8, 64], "width": [128], "storage": ["int3"], "prior": ["none"]}
    easy, hard = measure(text, codec="hard", grid=grid)
    assert (easy["density"], hard["density"]) == (8, 64)
    assert easy["exact"] is hard["exact"] is True
    assert easy["unverified_exact_pages"] == easy["pages"] and easy["unverified_char_accuracy_mean"] == 1.0
    assert easy["latent_ratio"] == easy["unverified_latent_ratio"] == pytest.approx(8, rel=0.1)
    assert hard["unverified_exact_pages"] < hard["pages"] and hard["unverified_char_accuracy_mean"] < 0.9
    assert hard["latent_ratio"] < hard["unverified_latent_ratio"] == pytest.approx(64, rel=0.2)
    assert easy["verify"] is True and easy["encode_no_verify_seconds"] > 0
    (loose,) = measure(text, codec="hard", grid={**grid, "density": [64], "verify": [False]})
    assert loose["exact"] is False and loose["encode_seconds"] is None
    for name in ("exact_pages", "char_accuracy_mean", "latent_ratio"):
        assert loose[name] == loose[f"unverified_{name}"] == hard[f"unverified_{name}"]


def test_a_document_is_measured_as_it_is(text: Path, table: object, tmp_path: Path) -> None:
    for density, exact in ((8, True), (64, False)):
        options = {"density": density, "width": 128, "storage": "int3", "prior": "none", "verify": False}
        made = api.compress(text, tmp_path / "a.vtc", codec="hard", page_symbols=PAGE, **options)
        (found,) = measure(tmp_path / "a.vtc")
        assert found["document_bytes"] == (tmp_path / "a.vtc").stat().st_size == made["document_bytes"]
        assert (found["density"], found["exact"], found["encode_seconds"]) == (density, exact, None)
        if exact:
            assert found["char_accuracy_mean"] == 1.0 and found["zstd19_bytes"] == len(zstandard.compress(TEXT, 19))
        else:  # nobody has the original
            assert found["char_accuracy_mean"] is None and found["zstd19_bytes"] is None
            assert found["exact_pages"] < found["pages"]
        measuring.table([found])


def test_times_are_set_beside_the_prefill_of_the_same_text(text: Path, table: object, llm: Stub) -> None:
    (found,) = measuring.measure([text], codec="ids", page_symbols=PAGE)
    tokens = found["text_tokens"]
    assert llm.read[0] == 1024 and sum(llm.read[1:]) == tokens == found["prefill_sample_tokens"]
    assert found["prefill_page_tokens"] == 1024 and found["prefill_seconds"] > 0
    assert found["restore_vs_prefill"] == found["prefill_seconds"] / found["restore_seconds"]
    assert found["encode_vs_prefill"] == found["prefill_seconds"] / found["encode_seconds"]
    assert found["threads"] >= 1 and found["peak_memory_bytes"] > 1e7 and found["seed"] == 0


def test_a_sample_of_the_prefill_is_scaled_by_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    llm = Stub()
    times = iter([100.0, 107.0])
    monkeypatch.setattr(cost.time, "perf_counter", lambda: next(times))
    found = cost.time_prefill(llm, np.zeros(10 * 1024 + 100, np.int32), sample_pages=4, seed=3)
    assert llm.read == [1024] * 5 and found.sample_tokens == 4 * 1024
    assert found.seconds == pytest.approx(7 * (10 * 1024 + 100) / found.sample_tokens)


def test_the_verb_prints_and_saves(
    text: Path, table: object, llm: Stub, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    common = ["measure", str(text), "--width", "256", "--density", "8,16", "--storage", "int8,int4", "-o"]
    assert main([*common, str(tmp_path / "out")]) == 0
    shown = capfd.readouterr().out
    for word in ("latent_ratio", "byte_ratio", "density", "dtype", "zstd -19", "raw ids", "prefill by", "seed 0"):
        assert word in shown
    assert max(map(len, shown.splitlines()[:6])) < 140
    with open(tmp_path / "out" / "measure.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["density"], row["dtype"]) for row in rows] == [
        ("8", "int8"),
        ("8", "int4"),
        ("16", "int8"),
        ("16", "int4"),
    ]
    records = json.loads((tmp_path / "out" / "measure.json").read_text())
    assert [str(record["latents"]) for record in records] == [row["latents"] for row in rows]
    with Image.open(tmp_path / "out" / "measure.png") as picture:
        assert picture.size[0] > 1000
    assert main([*common, str(tmp_path / "out"), "--no-llm", "--no-verify", "--json"]) == 0
    found = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert len(found["records"]) == 4 and found["records"][0]["verify"] is False
    assert [Path(file).name for file in found["files"]] == ["measure.csv", "measure.json", "measure.png"]


def test_the_table_is_shown_even_if_it_cannot_be_saved(
    text: Path, table: object, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["measure", str(text), "--codec", "ids", "--no-llm", "-o", str(text / "below")]) == 1
    shown, errors = capfd.readouterr()
    assert "latent_ratio" in shown and errors.startswith(f"vtc: {text / 'below'}") and errors.count("\n") == 1


def test_results_go_to_a_folder_named_after_the_file(
    text: Path, table: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(text.parent)
    assert main(["measure", "text.txt", "--codec", "ids", "--no-llm"]) == 0
    assert (text.parent / "measure-text" / "measure.csv").exists()


def test_mistakes_are_met_before_the_work_begins(
    text: Path, table: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("vtc.measuring.runs.fold", None)
    (tmp_path / "empty").write_bytes(b"")
    wrong: list[tuple[list[object], int, str]] = [
        ([text, tmp_path / "empty"], 2, "is empty"),
        ([text, tmp_path / "absent"], 1, "no such file"),
        ([text, tmp_path], 1, "is a directory"),
        ([text, "--density", "8,999999"], 2, "999999"),
        ([text, "--storage", "int9"], 2, "int9"),
        ([text, "--codec", "hart"], 2, "did you mean 'hard'"),
        ([text, "--prefill-pages", "0"], 2, "--prefill-pages 0"),
    ]
    for arguments, status, words in wrong:
        assert main(["measure", *map(str, arguments), "--no-llm", "-o", str(tmp_path / "out")]) == status
        errors = capfd.readouterr().err
        assert words in errors and errors.count("\n") == 1
    with pytest.raises(UsageError):
        measuring.measure([])
    with pytest.raises(SystemExit):
        main(["measure", str(text), "--density", "many"])
    assert not (tmp_path / "out").exists()


def test_bytes_that_are_no_text_are_compared_as_they_are(table: object, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(range(256)) * 20)
    (found,) = measure(tmp_path / "a.bin", codec="ids")
    assert found["exact"] is True and found["char_accuracy_mean"] == 1.0
    with pytest.raises(VtcError):
        measuring.save([found], tmp_path / "a.bin" / "below")
