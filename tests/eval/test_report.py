"""Tables of Markdown files come from the result files and from nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval import report as command
from eval.reporting import readme as report
from vtc.records.errors import VtcError

README = Path(__file__).parents[2] / "README.md"
READERS = README.parent / "docs" / "readers.md"


def test_the_readme_shows_the_result_files() -> None:
    text = README.read_text(encoding="utf-8")
    assert report.fill(text) == text
    both = text + READERS.read_text(encoding="utf-8")
    assert all(f"<!-- table: {name} -->" in both for name in report.TABLES)


def test_the_page_of_the_readers_shows_the_result_files() -> None:
    missing = [name for name in ("kv", "latency") if not list(report.RESULTS.glob(f"{name}_*.csv"))]
    if missing:
        pytest.skip(f"no results of {', '.join(missing)} yet; make them with: make results")
    text = READERS.read_text(encoding="utf-8")
    assert report.fill(text, "..") == text


def test_links_of_a_page_lead_to_the_result_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    monkeypatch.setattr(command, "ROOT", tmp_path)
    for path, link in ((tmp_path / "README.md", "](eval/results/"), (tmp_path / "docs" / "a.md", "](../eval/results/")):
        path.write_text("<!-- table: speed -->\n<!-- /table -->\n", encoding="utf-8")
        assert command.main(["--readme", str(path)]) == 0
        assert link + "speed_" in path.read_text(encoding="utf-8")


def test_a_wrong_marker_is_named_with_its_file_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, text = tmp_path / "a.md", "<!-- table: speed -->\n<!-- /table -->\n<!-- table: nothing -->\n<!-- /table -->"
    path.write_text(text, encoding="utf-8")
    assert command.main(["--readme", str(path)]) == 1
    assert "a.md: no table is called 'nothing'" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == text


def test_the_table_of_latencies_holds_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = "model dtype threads rounds document_tokens question_tokens position_ratio latents stored_bytes"
    names += " reread_seconds memory_seconds disk_seconds fingerprint_seconds memory_times_sooner disk_times_sooner"
    names += " compress_per_reread"
    cells = "m,float32,2,3,7900,25,7.99,float16,31234567,61.5,0.25,1.25,0.75,246,49.2,2.51"
    (tmp_path / "latency_a.csv").write_text(f"{names.replace(' ', ',')}\n{cells}\n", encoding="utf-8")
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    line = report.table("latency").splitlines()[2]
    assert line == "| 7,900 | 7.99 | 31.2 | 61.50 | 0.25 s, 246.0x sooner | 1.25 s, 49.2x sooner | 2.5 readings |"


def test_a_changed_figure_in_a_result_file_changes_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in report.RESULTS.glob("*.csv"):
        content = path.read_text(encoding="utf-8")
        (tmp_path / path.name).write_text(content.replace("1408", "4711"), encoding="utf-8")
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    assert "4711" in report.fill(README.read_text(encoding="utf-8"))


def test_an_unknown_table_and_a_missing_result_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(VtcError, match="'nothing'"):
        report.fill("<!-- table: nothing -->\n<!-- /table -->")
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    with pytest.raises(VtcError, match="make results"):
        report.fill("<!-- table: speed -->\n<!-- /table -->")


def test_numbers_for_people() -> None:
    assert report.number("1234.567") == "1,234.6"
    assert report.number("0.99987", 2, 100) == "99.99"
    assert report.number("") == "–"
