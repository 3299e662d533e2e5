"""DeepSeek-OCR's published outputs through the system and the task's scorer: the figures of the kept result file."""

from __future__ import annotations

import pytest

from eval.bootstrap import estimates
from eval.csvfile import RESULTS, read_rows
from eval.data import data_dir
from eval.schema import Item, Sample
from eval.systems.base import Bench, build
from eval.tasks.reconstruct import Reconstruct
from vtc.records.errors import UsageError

needs_data = pytest.mark.skipif(
    not (data_dir() / "fox_en.jsonl.gz").is_file(),
    reason="no evaluation texts: name their directory in VTC_DATA (from dududuck00/DeepSeekOCR)",
)
FILES = [
    ("fox", "clean", "deepseek-ocr_fox-en-84_cleanrender.csv", 3),
    ("fox", "scan", "deepseek-ocr_fox-en-84_scan.csv", 3),
    ("random-letters", "random", "deepseek-ocr_random-letters-84_cleanrender.csv", 2),
]


@needs_data
@pytest.mark.parametrize(("subset", "condition", "file", "count"), FILES)
def test_the_kept_results_come_out_of_system_and_scorer(subset: str, condition: str, file: str, count: int) -> None:
    rows = read_rows(RESULTS / file)
    assert len(rows) == count
    task = Reconstruct(sets=(subset,))
    for row in rows:
        system = build(f"deepseek:condition={condition}_{row['latents_per_page']}", "codec", Bench())
        samples = []
        for item in task.items():
            result = system.run(item)
            outcome = result.outcomes[0]
            assert result.latents == int(row["latents_per_page"])
            assert outcome.positions == float(row["positions_per_page"])
            measures = {**task.score(item, item.probes[0], outcome), "tokens": float(result.text_tokens)}
            samples.append(
                Sample("t", "s", item.id, "", "text", {}, measures, "", "", "", 1, 1, None, None, None, 0.0, 0.0)
            )
        found = {name: metric.value for name, metric in estimates(task.metrics, samples, {}, resamples=2).items()}
        pages = int(row["pages"])
        columns = {
            "char_accuracy": "char_accuracy_mean",
            "char_accuracy_normalised": "char_accuracy_normalised_mean",
        }
        for name in [name for name in task.metrics if not name.startswith(("exact", "repeat"))]:
            cell = row[columns.get(name, name)]
            assert found.get(name) == (pytest.approx(float(cell), abs=1e-6) if cell else None), name
        assert round(found["exact_pages"] * pages) == int(row["exact_pages"])
        assert round(found["exact_pages_normalised"] * pages) == int(row["exact_pages_normalised"])
        tokens = sum(sample.measures["tokens"] for sample in samples)
        assert tokens / pages == pytest.approx(float(row["tokens_per_page"]))


def test_stored_outputs_are_given_and_counted_as_they_are() -> None:
    item = Item("i", "s", b"text", "restore", stored={"clean_100": "output", "tokens_deepseek": "321"})
    result = build("deepseek:condition=clean_100", "codec", Bench()).run(item)
    assert result.outcomes[0].text == "output"
    assert (result.latents, result.text_tokens, result.outcomes[0].positions) == (100, 321, 111.0)
    assert result.stored_bytes is None, "how it would be stored was not published"


def test_texts_without_output_are_refused() -> None:
    result = build("deepseek", "codec", Bench()).run(Item("i", "s", b"text", "restore"))
    assert not result.outcomes
    assert result.refused == "DeepSeek-OCR published no output for this text under clean_64"


def test_an_unknown_condition_is_refused() -> None:
    for spec in ("deepseek:condition=clean_65", "deepseek:condition=tokens_deepseek"):
        with pytest.raises(UsageError, match="did you mean|known:"):
            build(spec, "codec", Bench())
