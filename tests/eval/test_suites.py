"""The smallest suite, run whole: all tasks, their controls, one table for all systems on the same rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.plan import load_suite
from eval.run import execute
from eval.runfolder import load_samples
from eval.schema import Record
from eval.show import tables


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, llm_folder: Path) -> tuple[Path, list[Record]]:
    folder = tmp_path_factory.mktemp("run") / "tiny"
    return folder, execute(load_suite("tiny"), folder, threads=1)


def test_every_system_stands_on_the_same_rows(run: tuple[Path, list[Record]]) -> None:
    folder, records = run
    rows: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for sample in load_samples(folder):
        rows.setdefault((sample.task, sample.system), set()).add((sample.item, sample.probe))
    for part in load_suite("tiny").parts:
        found = [rows[part.task, spec] for _, spec in part.systems()]
        assert all(own == found[0] for own in found) and found[0]
    shown = tables(records)
    assert all(task in shown for task in ("reconstruct", "continuation", "needle", "far_fact"))


def test_controls_are_where_they_must_be(run: tuple[Path, list[Record]]) -> None:
    whole = {(r.task, r.system): r for r in run[1] if r.subset == "all" and not r.tags}
    recovery = {spec: whole["continuation", spec].metrics["context_recovery"].value for spec in ("none", "text")}
    assert recovery == {"none": pytest.approx(0), "text": pytest.approx(1)}
    assert whole["continuation", "pool:ratio=8"].metrics["context_recovery"].value < 0  # worse than no context
    assert 0 < whole["continuation", "truncate:ratio=8"].metrics["context_recovery"].value < 1
    assert whole["needle", "text"].metrics["accuracy"].value == 1
    assert whole["needle", "none"].metrics["accuracy"].value == 0
    assert whole["reconstruct", "hard"].metrics["exact_pages"].value == 1
    for reader in ("truncate:ratio=8", "spread:ratio=8", "pool:ratio=8"):
        assert whole["continuation", reader].position_ratio == pytest.approx(8, rel=0.05)
    assert whole["continuation", "expand"].refused == 2 and "needs a question" in whole["continuation", "expand"].reason
