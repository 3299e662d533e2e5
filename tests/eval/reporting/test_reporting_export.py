"""Result files of a run: every record is a line, every number is the record's, and the plot is drawn from them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from eval import report
from eval.csvfile import read_rows
from eval.reporting import charts, export
from eval.runfolder import load_records
from eval.schema import Record
from vtc.records.errors import VtcError

NEEDLE = "by-hand_needle_40-documents_smollm2-135m_seed-3"
RECONSTRUCT = "by-hand_reconstruct_3-documents_smollm2-135m_seed-3"


def test_the_names_state_the_conditions(reported: tuple[Path, Path]) -> None:
    _, results = reported
    assert sorted(path.name for path in results.iterdir()) == sorted(
        f"{name}.{kind}" for name in (NEEDLE, RECONSTRUCT) for kind in ("csv", "png")
    )
    record = Record(1, "needle", "all", "text", "/models/a b", "a b", 7, 5, 9, 0, "", 1.0, None, None, 0.0, 0.0, {})
    assert export.file_name("my run", [record]) == "my-run_needle_5-documents_a-b_seed-7.csv"


def test_every_record_is_a_line_with_its_numbers(reported: tuple[Path, Path]) -> None:
    run, results = reported
    for task, rows in export.by_task(load_records(run)).items():
        lines = read_rows(next(results.glob(f"by-hand_{task}_*.csv")))
        assert len(lines) == len(rows)
        for line, record in zip(lines, rows, strict=True):
            assert list(line)[: len(export.FIXED)] == list(export.FIXED)
            assert [line[name] for name in ("task", "subset", "system")] == [task, record.subset, record.system]
            assert line["tags"] == ";".join("=".join(pair) for pair in record.tags.items())
            assert (int(line["documents"]), int(line["n"])) == (record.documents, record.n)
            for name in ("position_ratio", "latent_ratio", "byte_ratio"):
                value = getattr(record, name)
                assert line[name] == ("" if value is None else f"{value:.6f}")
            for name in export.metrics_of(list(line)):
                found = record.metrics.get(name)
                expected = [f"{n:.6f}" for n in (found.value, found.low, found.high)] if found else [""] * 3
                assert [line[name], line[f"{name}_low"], line[f"{name}_high"]] == expected
    assert export.metrics_of(list(lines[0])) == ["accuracy", "relative_accuracy"]


def test_a_reason_does_not_publish_whose_home_it_was(reported: tuple[Path, Path]) -> None:
    record = replace(load_records(reported[0])[0], reason=f"{Path.home()}/.cache/x: missing", refused=1)
    assert export.rows_of([record])[0]["reason"] == "~/.cache/x: missing"


def test_the_plot_shows_what_the_file_says(reported: tuple[Path, Path]) -> None:
    _, results = reported
    rows = read_rows(results / f"{NEEDLE}.csv")
    for row in rows:  # an interval need not be symmetric
        row["accuracy_low"] = row["accuracy_low"] and str(float(row["accuracy_low"]) / 2)
    figure = charts.drawn(rows)
    assert figure is not None
    (axes,) = figure.axes
    assert axes.get_xscale() == "log"
    whole = {row["system"]: row for row in rows if row["subset"] == "all" and not row["tags"]}
    for container in axes.containers:
        line, _, (bars,) = container.lines
        own = [row for name, row in whole.items() if name.partition(":")[0] == container.get_label()]
        own.sort(key=lambda row: float(row["position_ratio"]))
        assert list(line.get_xdata()) == [float(row["position_ratio"]) for row in own]
        assert list(line.get_ydata()) == [float(row["accuracy"]) for row in own]
        ends = [[point[1] for point in segment] for segment in bars.get_segments()]
        for end, row in zip(ends, own, strict=True):
            assert end == pytest.approx([float(row["accuracy_low"]), float(row["accuracy_high"])])
    assert {container.get_label() for container in axes.containers} == {"truncate", "expand"}
    flat = {line.get_label(): line.get_ydata()[0] for line in axes.lines if "control" in str(line.get_label())}
    assert flat == {f"{name} (control)": float(whole[name]["accuracy"]) for name in ("none", "text")}
    with Image.open(results / f"{NEEDLE}.png") as picture:
        assert picture.size[0] > 800


def test_codecs_are_plotted_over_latents_and_bytes(reported: tuple[Path, Path]) -> None:
    rows = read_rows(reported[1] / f"{RECONSTRUCT}.csv")
    assert charts.axes_of(rows) == ["latent_ratio", "byte_ratio"]
    assert list(charts.lines(rows, "latent_ratio", "char_accuracy")) == ["hard"]
    assert list(charts.lines(rows, "byte_ratio", "char_accuracy")) == ["hard", "zstd"]


def test_options_that_are_words_make_a_line_of_their_own() -> None:
    assert charts.family("hard:density=64,verify=false") == "hard, verify=false"
    assert charts.family("truncate:ratio=2.5") == "truncate"
    assert charts.family("text") == "text"


def test_without_a_ratio_there_is_no_plot(reported: tuple[Path, Path]) -> None:
    rows = [row for row in read_rows(reported[1] / f"{NEEDLE}.csv") if row["system"] in ("none", "text", "kvzip")]
    assert charts.chart(rows) is None


def test_an_unfinished_run_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "README.md").write_text("nothing to fill", encoding="utf-8")
    assert report.main([str(tmp_path), "--readme", str(tmp_path / "README.md"), "--results", str(tmp_path)]) == 1
    assert "holds no finished run" in capsys.readouterr().err
    with pytest.raises(VtcError):
        report.report(tmp_path, tmp_path)


def test_a_second_report_gives_the_same_files(handmade_run: Path, reported: tuple[Path, Path], tmp_path: Path) -> None:
    for path in report.report(handmade_run, tmp_path):
        if path.suffix == ".csv":
            assert path.read_bytes() == (reported[1] / path.name).read_bytes()
