"""A run's CSV as a table of the README."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.reporting import readme
from vtc.records.errors import VtcError


@pytest.fixture
def results(reported: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(readme, "RESULTS", reported[1])
    return reported[1]


def filled(marker: str) -> list[str]:
    """Lines between the marks."""
    text = readme.fill(f"before\n<!-- table: {marker} -->\nold\n<!-- /table -->\nafter")
    assert text.startswith(f"before\n<!-- table: {marker} -->\n\n| ") and text.endswith("\n<!-- /table -->\nafter")
    assert readme.fill(text) == text
    return text.splitlines()[3:-3]


def test_all_that_is_filled_is_shown(results: Path) -> None:
    lines = filled("run by-hand_needle_*.csv")
    assert lines[0] == "| system | documents | n | `position_ratio` | `accuracy` | `relative_accuracy` | not served |"
    assert "| truncate:ratio=4 | 40 | 40 | 4.00 | 0.600 [0.450, 0.750] | 0.686 [0.500, 0.897] |  |" in lines
    assert "| kvzip | 0 | 0 | – | – | – | 2: kvzip: build it: make peers |" in lines
    assert "[`by-hand_needle_40-documents_smollm2-135m_seed-3.csv`](eval/results/" in lines[-1]


def test_columns_and_subsets_can_be_picked(results: Path) -> None:
    lines = filled("run by-hand_reconstruct_*.csv columns=exact,latent_ratio subset=*")
    assert lines[0] == "| subset | system | documents | n | `exact` | `latent_ratio` | not served |"
    assert {line.split(" | ")[0] for line in lines[2:17]} == {"| all", "| fox", "| torture"}
    only = filled("run by-hand_reconstruct_*.csv columns=exact subset=fox")
    assert "| hard:density=128 | 2 | 2 | 0.000 [0.000, 0.000] |  |" in only


def test_systems_are_picked_by_their_name_without_options(results: Path) -> None:
    lines = filled("run by-hand_needle_*.csv systems=truncate,none columns=accuracy")
    names = [line.split(" | ")[0].removeprefix("| ") for line in lines[2:-2]]
    assert names[0] == "none" and {name.partition(":")[0] for name in names} == {"none", "truncate"}
    assert lines[0] == "| system | documents | n | `accuracy` |"  # the one that was not served is not among them


def test_markup_in_a_reason_stays_in_its_cell() -> None:
    from eval.reporting.runtable import plain

    assert plain("a | b\nc") == "a \\| b c"


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("run", "names no CSV"),
        ("run nothing_*.csv", "make it with"),
        ("run by-hand_*.csv", "all match"),
        ("run by-hand_needle_*.csv column=accuracy", "did you mean 'columns'"),
        ("run by-hand_needle_*.csv columns=acuracy", "did you mean 'accuracy'"),
        ("run by-hand_needle_*.csv subset=fox", "subset 'fox'"),
        ("run by-hand_needle_*.csv systems=none,truncat", "did you mean 'truncate'"),
        ("runs", "no table is called 'runs'"),
    ],
)
def test_a_wrong_marker_is_named(results: Path, marker: str, message: str) -> None:
    with pytest.raises(VtcError, match=message):
        readme.fill(f"<!-- table: {marker} -->\n<!-- /table -->")
