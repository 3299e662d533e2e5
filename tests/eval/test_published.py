"""DeepSeek-OCR's published outputs, scored by our code, against the figures known for them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from eval import published
from eval.csvfile import RESULTS, read_rows, write_rows
from eval.data import data_dir, fox_pages, random_letters, stories
from vtc.records.errors import VtcError

needs_data = pytest.mark.skipif(
    not (data_dir() / "fox_en.jsonl.gz").is_file(),
    reason="no evaluation texts: name their directory in VTC_DATA (from dududuck00/DeepSeekOCR)",
)


@needs_data
def test_scores_agree_with_the_known_figures() -> None:
    """The figures are those of all 112 English pages; of these 84 are at hand, so a few points apart is right."""
    pages = list(fox_pages())
    known = {
        "clean_64": (0.911, 0.978, 0.635, 0.885),
        "clean_100": (0.971, 0.995, 0.824, 0.962),
        "clean_256": (0.996, 0.999, 0.925, 0.994),
        "scan_64": (0.856, 0.945, None, None),
        "scan_100": (0.960, 0.982, None, None),
        "scan_256": (0.979, 0.990, None, None),
    }
    for condition, (mean, median, digits, alphabetic) in known.items():
        row = published.score(pages, condition)
        assert row["char_accuracy_normalised_mean"] == pytest.approx(mean, abs=0.015)
        assert row["char_accuracy_normalised_median"] == pytest.approx(median, abs=0.003)
        if digits is not None:
            assert row["digit_word_recall"] == pytest.approx(digits, abs=0.015)
            assert row["alphabetic_word_recall"] == pytest.approx(alphabetic, abs=0.025)


@needs_data
def test_random_letters_agree_with_the_known_figures() -> None:
    pages = list(random_letters())
    for condition, mean in (("random_64", 0.605), ("random_100", 0.803)):
        assert published.score(pages, condition)["char_accuracy_normalised_mean"] == pytest.approx(mean, abs=0.006)


@needs_data
def test_the_kept_results_are_what_the_command_makes(tmp_path: Path) -> None:
    for made in published.score_all(None, tmp_path):
        assert made.read_bytes() == (RESULTS / made.name).read_bytes()


@needs_data
def test_stories_are_long_texts() -> None:
    assert min(len(story["text"]) for story in stories()) > 5_000


def test_positions_count_newline_and_separator_embeddings() -> None:
    assert [published.positions(n) for n in (64, 100, 256, 400)] == [73, 111, 273, 421]
    with pytest.raises(ValueError, match="square"):
        published.positions(65)


def write_pages(path: Path, conditions: list[str]) -> None:
    page = {
        "id": "p",
        "text": "one 2 three",
        "tokens_deepseek": 128,
        "deepseek_ocr": dict.fromkeys(conditions, "one 2"),
    }
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.write(json.dumps(page) + "\n")


def test_one_file_per_condition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ("64", "100", "256")
    write_pages(tmp_path / "fox_en.jsonl.gz", [f"{kind}_{size}" for kind in ("clean", "scan") for size in sizes])
    write_pages(tmp_path / "random_letters.jsonl.gz", ["random_64", "random_100"])
    out = tmp_path / "results"
    assert published.main(["--data", str(tmp_path), "--out", str(out)]) == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "deepseek-ocr_fox-en-1_cleanrender.csv",
        "deepseek-ocr_fox-en-1_scan.csv",
        "deepseek-ocr_random-letters-1_cleanrender.csv",
    ]
    rows = read_rows(out / "deepseek-ocr_fox-en-1_cleanrender.csv")
    assert [row["latents_per_page"] for row in rows] == ["64", "100", "256"]
    assert rows[0]["latent_ratio"] == "2.000000"
    assert rows[0]["position_ratio"] == f"{128 / 73:.6f}"
    assert rows[0]["alphabetic_word_recall"] == "0.500000"
    assert rows[0]["identifier_recall"] == "", "a recall of nothing is an empty cell"


def test_missing_and_damaged_data_end_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert published.main(["--data", str(tmp_path)]) == 1
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "dududuck00/DeepSeekOCR" in message and str(tmp_path) in message

    write_pages(tmp_path / "fox_en.jsonl.gz", ["clean_64"])
    whole = (tmp_path / "fox_en.jsonl.gz").read_bytes()
    (tmp_path / "fox_en.jsonl.gz").write_bytes(whole[:-12])
    with pytest.raises(VtcError, match=r"fox_en\.jsonl\.gz: damaged"):
        list(fox_pages(tmp_path))


def test_rows_with_other_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="columns differ"):
        write_rows(tmp_path / "x.csv", [{"a": 1}, {"b": 1}])
    assert not (tmp_path / "x.csv").exists()
