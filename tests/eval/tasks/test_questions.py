"""Multiple-choice questions about pages."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from eval.data import data_dir, fox_pages
from eval.schema import Item, Outcome
from eval.tasks.questions import Questions
from vtc.records.errors import UsageError, VtcError

needs_data = pytest.mark.skipif(
    not (data_dir() / "fox_en.jsonl.gz").is_file(),
    reason="no evaluation texts: name their directory in VTC_DATA (from dududuck00/DeepSeekOCR)",
)


def page(name: str) -> dict[str, Any]:
    options = {"A": "no", "B": "é", "C": "a long answer", "D": "none"}
    return {
        "id": name,
        "text": f"Text of {name}.",
        "questions": [{"question": "What?", "options": options, "correct_answer": "C"}],
    }


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """Four pages of one question."""
    with gzip.open(tmp_path / "fox_en.jsonl.gz", "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(page(f"p{i}")) + "\n" for i in range(4))
    return str(tmp_path)


def test_the_right_option_is_first_and_the_page_is_the_document(folder: str) -> None:
    items = list(Questions(data=folder).items())
    assert [item.id for item in items] == ["p0", "p1", "p2", "p3"]
    (probe,) = items[1].probes
    assert items[1].text == b"Text of p1." and items[1].mode == "ask" and items[1].subset == "fox"
    assert probe.choices == ("a long answer", "no", "é", "none") and probe.answer == "a long answer"
    assert "What?" in probe.prompt


def test_pages_are_drawn_by_the_seed(folder: str) -> None:
    def made(**settings: int) -> list[str]:
        return [item.id for item in Questions(data=folder, **settings).items()]

    assert made(n=2) == made(n=2) == sorted(made(n=2)) and len(set(made(n=2))) == 2
    assert len({tuple(made(n=2, seed=seed)) for seed in range(9)}) > 1
    assert made(n=99) == made()


def test_a_side_has_its_own_pages(folder: str) -> None:
    """`p0` to `p3` by the hash of `fox/p0` and so on."""
    sides = ["test" if int(hashlib.sha256(f"fox/p{i}".encode()).hexdigest()[:16], 16) % 3 else "dev" for i in range(4)]
    assert set(sides) == {"dev", "test"}
    for split in ("dev", "test"):
        found = [item.id for item in Questions(data=folder, split=split).items()]
        assert found == [f"p{i}" for i in range(4) if sides[i] == split]
        assert [item.id for item in Questions(data=folder, split=split, n=1).items()][0] in found


def test_losses_are_compared_by_byte_and_altogether(folder: str) -> None:
    item: Item = next(Questions(data=folder).items())
    (probe,) = item.probes  # options of 13, 2, 2 and 4 bytes

    def score(*sums: float) -> dict[str, float]:
        nll = tuple((total / 2, total / 2) for total in sums)
        return Questions(data=folder).score(item, probe, Outcome(nll=nll))

    assert score(13.0, 4.0, 4.0, 8.0) == {"correct": 1.0, "correct_sum": 0.0, "nll": 13.0}
    assert score(13.0, 14.0, 1.9, 14.0) == {"correct": 0.0, "correct_sum": 0.0, "nll": 13.0}
    assert score(1.0, 2.0, 2.0, 2.0) == {"correct": 1.0, "correct_sum": 1.0, "nll": 1.0}
    assert score(13.0, 2.0, 2.0, 4.0)["correct"] == 0.0, "é is two bytes; a tie is no choice"


@needs_data
def test_the_pages_have_three_questions_each() -> None:
    items = list(Questions().items())
    assert len(items) == len(list(fox_pages())) == 84
    for item in items:
        assert [len(set(probe.choices)) for probe in item.probes] == [4, 4, 4]


def test_errors_name_the_mend(tmp_path: Path) -> None:
    with pytest.raises(VtcError, match="dududuck00/DeepSeekOCR"):
        next(Questions(data=str(tmp_path)).items())
    with pytest.raises(UsageError, match="n=0: must be at least 1"):
        Questions(n=0)
