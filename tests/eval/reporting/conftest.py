"""A small run made by hand: a restoring and an asking task, with texts that a careless report would stumble over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from eval.bootstrap import Metric
from eval.plan import Part, Plan
from eval.runfolder import RunFolder
from eval.runner import groups, record_of
from eval.schema import Item, Outcome, Probe, Record, Sample
from eval.tasks.base import Task
from vtc.metrics import (
    Recall,
    alphabetic_word_recall,
    char_accuracy,
    char_accuracy_normalised,
    digit_word_recall,
    identifier_recall,
)

SCRIPT = "<script>document.title='pwned'</script>"
IMAGE = "<img src=x onerror=\"document.title='pwned'\">"
STORY = "The order of 14 May 1976 went to a@b.org and to Mr Hale.\n" * 12 + "Nobody was told.\n"
TORTURE = (
    f"שלום עולם, ثلاثة\n{SCRIPT}\nNUL \x00, \u202eright to left, 漢字 と かな, é, 🙂, \udcff\n{IMAGE} ]]> &amp; -->\n"
    * 3
)
PAGES = {"fox": (STORY, STORY.replace("Nobody", "Everybody")), "torture": (TORTURE,)}


@dataclass
class Restoring(Task):
    name = "reconstruct"
    metrics = {
        "char_accuracy": Metric(lambda own, _: own.mean("char_accuracy")),
        "exact": Metric(lambda own, _: own.mean("exact")),
        "digit_recall": Metric(lambda own, _: own.share("digit_found", "digit_total")),
    }

    def items(self) -> Iterator[Item]:
        yield from ()

    def score(self, item: Item, probe: Probe, outcome: Outcome) -> dict[str, float]:
        return {}


@dataclass
class Asking(Restoring):
    name = "needle"
    controls = ("none", "text")
    metrics = {
        "accuracy": Metric(lambda own, _: own.mean("correct")),
        "relative_accuracy": Metric(
            lambda own, others: own.sum("correct") / others["text"].sum("correct"), against=("none", "text")
        ),
    }
    groups = ("kind", "depth")


def damaged(text: str, every: int) -> str:
    """One character in `every` lost or changed, and one space doubled."""
    lost = "".join(c for i, c in enumerate(text) if i % every != 7 % every)
    return lost.replace(" ", "  ", 1) if every < len(text) else text


def restored(system: str, item: str, subset: str, reference: str, output: str, latents: int | None) -> Sample:
    """A page as the scorer of `reconstruct` keeps it."""
    recalls: dict[str, Recall] = {
        "digit": digit_word_recall(reference, output),
        "identifier": identifier_recall(reference, output),
        "alphabetic": alphabetic_word_recall(reference, output),
    }
    counts = {f"{kind}_found": float(recall.found) for kind, recall in recalls.items()}
    counts |= {f"{kind}_total": float(recall.total) for kind, recall in recalls.items()}
    return Sample(
        task="reconstruct",
        system=system,
        item=item,
        subset=subset,
        probe="text",
        tags={},
        measures={
            "char_accuracy": char_accuracy(reference, output),
            "char_accuracy_normalised": char_accuracy_normalised(reference, output),
            "exact": float(reference == output),
            **counts,
            "repeat_right": 11.0,
            "repeat_total": 12.0,
        },
        reference=reference,
        output=output,
        refused="",
        text_bytes=len(reference.encode("utf-8", "surrogateescape")),
        text_tokens=len(reference) // 4,
        positions=None,
        latents=latents,
        stored_bytes=len(reference) // (2 if latents is None else 1),
        prepare_seconds=0.25,
        seconds=0.5,
    )


def refusal(task: str, system: str, item: str, subset: str, reason: str) -> Sample:
    """A document that a system could not serve."""
    return Sample(task, system, item, subset, "text", {}, {}, "", "", reason, 9, 0, None, None, None, 0.0, 0.0)


def restoring_samples() -> list[Sample]:
    """Codecs at several ratios, one that loses nothing, and one that is not there."""
    found = []
    for system, every in (("hard:density=64", 10**9), ("hard:density=128", 97), ("hard:density=256", 19)):
        for subset, texts in PAGES.items():
            for i, text in enumerate(texts):
                latents = max(1, len(text) // 4 // int(system.rpartition("=")[2]))
                found.append(restored(system, f"{subset}-{i}", subset, text, damaged(text, every), latents))
    for subset, texts in PAGES.items():
        for i, text in enumerate(texts):
            found.append(restored("zstd", f"{subset}-{i}", subset, text, text, None))
            found.append(
                refusal(
                    "reconstruct", "tesseract", f"{subset}-{i}", subset, f"tesseract: not found; install it {SCRIPT}"
                )
            )
    return found


def asking_samples() -> list[Sample]:
    """A grid of depths and lengths; `truncate` forgets what stands early, `text` little, `none` knows nothing."""
    found = []
    for system in ("none", "text", "truncate:ratio=4", "truncate:ratio=16", "expand:ratio=16"):
        keeps = {"none": 2.0, "text": 0.0, "truncate:ratio=4": 0.5, "truncate:ratio=16": 0.9}.get(system, 0.1)
        for length in (500, 1000, 4000, 16000):
            for number, depth in enumerate((0.0, 0.25, 0.5, 0.75, 1.0)):
                for kind in ("code", "uuid"):
                    right = depth >= keeps and not (system == "text" and length == 16000 and kind == "uuid")
                    found.append(
                        Sample(
                            task="needle",
                            system=system,
                            item=f"needle-{length}-{number}-{kind}",
                            subset="needle",
                            probe="needle",
                            tags={"kind": kind, "depth": str(depth), "length": str(length), "needles": "1"},
                            measures={"correct": float(right)},
                            reference="73910",
                            output="73910" if right else f"I do not know. {SCRIPT}\nשלום \x00",
                            refused="",
                            text_bytes=4 * length,
                            text_tokens=length,
                            positions=None if system == "none" else length / float(system.partition("ratio=")[2] or 1),
                            latents=None,
                            stored_bytes=None,
                            prepare_seconds=0.1,
                            seconds=0.02,
                            prompt=f"What is the {kind} of Mr Hale's locker? {IMAGE}",
                        )
                    )
    for number in range(2):
        found.append(refusal("needle", "kvzip", f"needle-500-{number}-code", "needle", "kvzip: build it: make peers"))
    return found


def handmade(folder: Path) -> Path:
    """A finished run with both tasks in `folder`."""
    samples = {"reconstruct": restoring_samples(), "needle": asking_samples()}
    plan = Plan([Part(task) for task in samples], seed=3)
    records: list[Record] = []
    for task in (Restoring(), Asking()):
        for subset, tags, rows in groups(task, samples[task.name]):
            systems: dict[str, list[Sample]] = {}
            for row in rows:
                systems.setdefault(row.system, []).append(row)
            controls = {name: systems.get(name, []) for name in task.controls}
            records += [record_of(task, subset, tags, name, own, controls, plan) for name, own in systems.items()]
    run = RunFolder(folder)
    run.begin(plan, threads=1, processes=1)
    run.finish([sample for rows in samples.values() for sample in rows], records)
    return folder


@pytest.fixture(scope="session")
def handmade_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run; tests read it only."""
    return handmade(tmp_path_factory.mktemp("runs") / "by-hand")


@pytest.fixture(scope="session")
def reported(handmade_run: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The run, reported, and the folder of its result files."""
    from eval.report import report

    results = tmp_path_factory.mktemp("results")
    report(handmade_run, results)
    return handmade_run, results
