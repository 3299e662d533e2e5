"""The report's parts against sums by hand."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from eval.reporting import asked, heat, restored, tables
from eval.runfolder import load_records, load_samples
from eval.schema import Sample


def systems(run: Path, task: str) -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = {}
    for sample in load_samples(run):
        if sample.task == task:
            found.setdefault(sample.system, []).append(sample)
    return found


def test_a_heat_table_holds_the_share_of_right_answers(handmade_run: Path) -> None:
    rows = systems(handmade_run, "needle")["text"]
    grid = heat.grid(rows)
    assert grid["0.25", "4000"] == (1.0, 2)
    assert grid["0.25", "16000"] == (0.5, 2)  # one kind of two
    markup = heat.heat_table("text", {key: value for key, value in grid.items() if key != ("1.0", "500")})
    lines = [re.findall(r"<t[hd][^>]*>([^<]*)<", line) for line in re.findall(r"<tr>.*?</tr>", markup)]
    assert lines[0][1:] == ["500", "1000", "4000", "16000"]  # by size, not by spelling
    assert lines[1] == ["0.0", "1.00", "1.00", "1.00", "0.50"]
    assert lines[5][:2] == ["1.0", "–"]


def test_a_failure_is_darker_than_a_success() -> None:
    shades = [sum(map(int, re.findall(r"rgb\((\d+),(\d+),(\d+)\)", heat.cell((share, 1)))[0])) for share in (0, 0.5, 1)]
    assert shades == sorted(set(shades))


def test_recall_by_kind_counts_what_was_lost(handmade_run: Path) -> None:
    found = systems(handmade_run, "reconstruct")
    markup = restored.class_table(found, seed=3)
    (line,) = re.findall(r"<tr>(?:(?!</tr>).)*hard:<wbr>density=128.*?</tr>", markup)
    rows = found["hard:density=128"]
    kept, wanted = (sum(row.measures[f"digit_{what}"] for row in rows) for what in ("found", "total"))
    assert f"{100 * kept / wanted:.1f} %" in line
    assert f"{wanted - kept:.0f} of {wanted:.0f} lost" in line
    assert "3 of 36 lost" in line  # repeated lines
    assert "tesseract" not in markup


def test_one_lost_word_never_reads_as_100_percent(handmade_run: Path) -> None:
    row = systems(handmade_run, "reconstruct")["zstd"][0]
    almost = replace(row, measures={"digit_found": 4999.0, "digit_total": 5000.0})
    assert "99.98 % " in restored.class_table({"x": [almost]}, seed=0)


def test_the_worst_pages_come_first_and_exact_systems_are_told(handmade_run: Path) -> None:
    found = systems(handmade_run, "reconstruct")
    markup = restored.worst_pages(found)
    shown = [float(value) for value in re.findall(r"character accuracy ([\d.]+) %", markup)]
    for i, system in enumerate(("hard:density=128", "hard:density=256")):
        accuracies = sorted(100 * row.measures["char_accuracy"] for row in found[system])
        assert shown[3 * i : 3 * i + 3] == [round(value, 2) for value in accuracies]
    assert "<b>zstd</b>: all 3 came back exactly" in markup
    assert restored.worst_pages(systems(handmade_run, "needle")) == ""


def test_only_wrong_answers_are_listed_and_few_of_them(handmade_run: Path) -> None:
    found = systems(handmade_run, "needle")
    markup = asked.failed_probes(found)
    assert "<b>none</b>: 40 of 40 wrong, the first 10" in markup
    assert "<b>text</b>: 5 of 40 wrong<" in markup
    listed = markup.count("needles 1")
    assert listed == sum(
        min(10, sum(1 - row.measures["correct"] for row in rows if row.measures)) for rows in found.values()
    )
    assert asked.failed_probes(systems(handmade_run, "reconstruct")) == ""


def test_a_choice_without_text_and_a_long_question_are_shown(handmade_run: Path) -> None:
    row = replace(systems(handmade_run, "needle")["none"][0], output="", prompt="x" * 900 + " why?")
    assert "another choice" in asked.given(row)
    assert asked.question(row).startswith("…x") and asked.question(row).endswith(" why?")


def test_a_system_that_served_nothing_shows_why(handmade_run: Path) -> None:
    records = [row for row in load_records(handmade_run) if row.task == "needle"]
    markup = tables.result_table([row for row in records if not row.tags])
    assert re.search(r"kvzip</th><td class=\"reason\" colspan=\"\d+\"><span>2 not served: kvzip: build it", markup)
    parts = tables.split_tables(records)
    assert re.findall(r"<summary>(.*?)</summary>", parts) == ["By kind (2)", "By depth (5)"]
