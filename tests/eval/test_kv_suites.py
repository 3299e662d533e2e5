"""The suites of reader kv: what is chosen on one side is reported on the other, and the rows are what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval.data import data_dir
from eval.plan import Part, load_suite
from eval.systems.base import Bench, build
from eval.tasks.continuation import Continuation
from eval.tasks.needle import Needle
from vtc.llm.frozen import FrozenLM
from vtc.llm.vocabulary import Vocabulary

needs_data = pytest.mark.skipif(
    not (data_dir() / "fox_en.jsonl.gz").is_file(),
    reason="no evaluation texts: name their directory in VTC_DATA (from dududuck00/DeepSeekOCR)",
)
PEERS = {"kvzip", "snapkv", "streamingllm", "chunkkv"}


def part(suite: str, task: str) -> Part:
    (found,) = (part for part in load_suite(suite).parts if part.task == task)
    return found


@pytest.mark.parametrize(
    ("suite", "split"),
    [("kv", "test"), ("kv_dev", "dev"), ("kv_ablation", "test"), ("long", "test"), ("longest", "test")],
)
def test_every_part_is_of_one_side(suite: str, split: str) -> None:
    parts = load_suite(suite).parts
    assert parts and all(part.settings["split"] == split for part in parts)
    readers = [part.readers for part in parts]
    assert all(found == readers[0] for found in readers), "the same rows for all"


def test_all_peers_and_controls_stand_beside_kv() -> None:
    specs = [spec for _, spec in part("kv", "continuation").systems()]
    assert {f"{name}:ratio={ratio}" for name in ("kv", "kvzip", "truncate") for ratio in (4, 8, 16, 32)} < set(specs)
    assert PEERS | {"none", "text", "spread", "expand"} < {spec.partition(":")[0] for spec in specs}
    assert "page" in [spec for _, spec in part("kv", "needle").systems()]


@needs_data
def test_kv_goes_on_with_32_documents_of_four_domains(vocabulary: Vocabulary) -> None:
    task = part("kv", "continuation").build(None)
    assert isinstance(task, Continuation)
    items = list(task.items())
    assert len(items) >= 32 and len({item.id for item in items}) == len(items)
    domains = [item.subset for item in items]
    assert {domains.count(domain) for domain in ("prose", "manual", "code", "fox")} == {8}
    lengths = [len(vocabulary.encode(item.text.decode())) for item in items]
    assert min(lengths) > 900 and sum(length > 1900 for length in lengths) >= 9 and 7800 < max(lengths) < 8050


def test_every_row_of_the_ablation_is_a_recipe_of_its_own(tiny: FrozenLM, tiny_folder: Path) -> None:
    bench = Bench(str(tiny_folder))
    bench.llm = tiny  # type: ignore[misc]
    specs = [spec for _, spec in part("kv_ablation", "needle").systems() if spec.startswith("kv:")]
    readers = [vars(build(spec, "reader", bench))["_reader"] for spec in specs]  # refuses unknown pieces
    assert len(specs) >= 8 and len({(reader.recipe, reader.rows) for reader in readers}) == len(specs)
    assert all(reader.ratio == 8 for reader in readers)


def test_long_documents_are_asked_ten_times() -> None:
    longest = part("longest", "needle").build(None)
    assert isinstance(longest, Needle) and max(longest.lengths) == 262_000
    task = part("long", "needle").build(None)
    assert isinstance(task, Needle) and task.lengths == (32_000,) and task.filler == longest.filler == "mixed"
    item = next(task.items())
    assert len(item.text) > 100_000 and len(item.probes) == 10 and len(item.probes[0].wrong) == 10
    assert {probe.tags["depth"] for probe in item.probes} == set(task.depths)
    assert part("longest", "two_pages").settings["filler"] == "mixed"
