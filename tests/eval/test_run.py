"""The runner: one table of all systems, the run folder, resuming, two processes, and what is refused."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from eval import registry
from eval.plan import Part, Plan, at_ratios, load_suite
from eval.run import execute, main
from eval.runfolder import RunFolder, load_records, load_samples
from eval.schema import Record
from vtc.records.errors import UsageError, VtcError

TOY = Path(__file__).with_name("toy.py")
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("toy", TOY)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "toy", module)
    spec.loader.exec_module(module)
    monkeypatch.setitem(registry.TASKS, "digits", "toy:Digits")
    for name in ("keep", "picky", "crash"):
        monkeypatch.setitem(registry.CODEC_SYSTEMS, name, f"toy:{name.capitalize()}")


def plan(*codecs: str, **settings: object) -> Plan:
    return Plan([Part("digits", dict(settings), list(codecs))])


def values(records: list[Record], metric: str = "kept") -> dict[tuple[str, str, str], float]:
    return {(r.subset, str(r.tags), r.system): r.metrics[metric].value for r in records if metric in r.metrics}


def test_systems_stand_side_by_side_in_all_subset_and_group_tables(tmp_path: Path) -> None:
    records = execute(plan("keep", "keep:drop=2", "picky"), tmp_path / "run", threads=1)
    found = values(records)
    assert found["all", "{}", "keep"] == 1.0
    assert found["all", "{}", "keep:drop=2"] == pytest.approx(4 / 6)
    assert found["odd", "{}", "keep:drop=2"] == found["all", "{'parity': '1'}", "keep:drop=2"]
    by_name = {record.system: record for record in records if record.subset == "all" and not record.tags}
    assert (by_name["picky"].documents, by_name["picky"].refused, by_name["picky"].reason) == (2, 3, "is even")
    assert (by_name["keep"].latent_ratio, by_name["keep"].byte_ratio) == (2.0, 0.5)
    assert by_name["keep"].position_ratio is None
    assert (by_name["keep"].documents, by_name["keep"].n, by_name["keep"].model) == (5, 5, "smollm2-135m")


def test_the_folder_holds_what_the_design_says_and_reads_back(tmp_path: Path) -> None:
    run = tmp_path / "run"
    records = execute(plan("keep", "picky"), run, threads=1)
    assert {path.name for path in run.iterdir()} == {
        "config.yaml",
        "command.txt",
        "env.json",
        "samples.parquet",
        "metrics.json",
    }
    assert load_records(run) == records
    samples = load_samples(run)
    assert [(s.system, s.item) for s in samples][:2] == [("keep", "i00"), ("keep", "i01")] and len(samples) == 10
    assert samples[0].measures == {"kept": 6.0, "wanted": 6.0} and samples[0].output == "123456"
    assert samples[0].tags == {"parity": "0"} and samples[0].positions is None and samples[0].latents == 3
    environment = json.loads((run / "env.json").read_text())
    assert {"commit", "dirty", "source", "seed", "threads", "torch", "python"} <= set(environment)


def test_a_second_run_gives_the_same_and_a_finished_one_is_not_run_again(tmp_path: Path) -> None:
    first = execute(plan("keep:drop=1"), tmp_path / "a", threads=1)
    again = execute(plan("keep:drop=1"), tmp_path / "b", threads=1)
    assert values(first) == values(again)
    before = (tmp_path / "a" / "metrics.json").stat().st_mtime_ns
    assert execute(plan("keep:drop=1"), tmp_path / "a", threads=1) == first
    assert (tmp_path / "a" / "metrics.json").stat().st_mtime_ns == before


def test_a_killed_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    crashing = plan(f"crash:unless={mark}")
    run = tmp_path / "run"
    with pytest.raises(RuntimeError, match="killed"):
        execute(crashing, run, threads=1)
    assert not (run / "metrics.json").exists()
    part = next((run / "parts").glob("*.jsonl"))
    part.write_text(part.read_text() + '\n[{"task": "digi')  # what a kill in the middle of a write leaves
    records = execute(crashing, run, threads=1)
    assert mark.with_suffix(".log").read_text().split() == ["i00", "i01", "i02", "i03", "i04"]  # none twice
    assert records[0].documents == 5 and not (run / "parts").exists()
    environment = json.loads((run / "env.json").read_text())
    assert [set(environment) - {"resumed"}] == [set(again) for again in environment["resumed"]]


def test_another_plan_does_not_mix_with_a_folder(tmp_path: Path) -> None:
    execute(plan("keep"), tmp_path / "run", threads=1)
    with pytest.raises(UsageError, match="holds a run with another plan"):
        execute(plan("keep", count=3), tmp_path / "run", threads=1)
    with pytest.raises(VtcError, match="holds no finished run"):
        load_records(tmp_path)


def test_two_processes_give_the_same_as_one(tmp_path: Path) -> None:
    """Launched by `accelerate`, by the file that ships."""
    arguments = ["-t", "digits", "-c", "keep:drop=1", "picky", "count=7", "--threads", "1", "--out"]
    config = str(ROOT / "eval" / "launch" / "two-processes.yaml")
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", config, str(TOY)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([*launch, *arguments, "two"], cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert json.loads((tmp_path / "two" / "env.json").read_text())["processes"] == 2
    assert main([*arguments, str(tmp_path / "one")]) == 0
    one, two = load_records(tmp_path / "one"), load_records(tmp_path / "two")
    assert values(one) == values(two) and [r.metrics for r in one] == [r.metrics for r in two]
    strip = [(s.system, s.item, s.measures) for s in load_samples(tmp_path / "one")]
    assert strip == [(s.system, s.item, s.measures) for s in load_samples(tmp_path / "two")]


def test_the_processes_share_the_items(tmp_path: Path) -> None:
    from eval.runner import Share, run_part
    from eval.systems.base import Bench

    folder, whole = RunFolder(tmp_path), plan("keep")
    folder.begin(whole, 1, 3)
    found = [run_part(whole.parts[0], whole, Bench(), folder, set(), Share(i, 3)) for i in range(3)]
    assert [[sample.item for sample in share] for share in found] == [["i00", "i03"], ["i01", "i04"], ["i02"]]
    assert sorted(sample.item for sample in folder.samples()) == [f"i{i:02}" for i in range(5)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-t", "digit"], "unknown task 'digit'; did you mean 'digits'"),
        (["-t", "digits"], "no system; name codecs with -c or readers with -r"),
        (["-t", "digits", "-c", "kep"], "did you mean 'keep'"),
        (["-t", "digits", "-c", "keep", "cout=3"], "did you mean 'count'"),
        (["-t", "digits", "-c", "keep", "count=x"], "count: 'x' is not int"),
        (["-t", "digits", "-c", "keep:drop"], "'drop' is no option; write keep:key=value"),
        (["-t", "digits", "-r", "truncate*"], "the star wants ratios"),
        (["-t", "digits", "--suite", "quick"], "name either a task"),
        (["--suite", "quik"], "did you mean 'quick'"),
        ([], "name either a task"),
    ],
)
def test_bad_usage_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main([*arguments, "--out", str(tmp_path / "x")]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_readers_with_a_star_are_taken_at_every_ratio() -> None:
    assert at_ratios("truncate*", [4, 8.5]) == ["truncate:ratio=4", "truncate:ratio=8.5"]
    assert at_ratios("truncate*:keep=first", [4]) == ["truncate:ratio=4,keep=first"]
    assert at_ratios("none", [4]) == ["none"]


@pytest.mark.parametrize("suite", sorted(path.stem for path in (ROOT / "eval" / "suites").glob("*.yaml")))
def test_every_suite_can_be_built(suite: str) -> None:
    loaded = load_suite(suite)
    for part in loaded.parts:
        assert part.build(None).name == part.task and part.systems()
