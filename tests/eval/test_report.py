"""The README's tables come from the result files and from nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.reporting import readme as report
from vtc.records.errors import VtcError

README = Path(__file__).parents[2] / "README.md"


def test_the_readme_shows_the_result_files() -> None:
    text = README.read_text(encoding="utf-8")
    assert report.fill(text) == text
    assert all(f"<!-- table: {name} -->" in text for name in report.TABLES)


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
