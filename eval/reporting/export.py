"""A run's records as one CSV a task; the file's name states the conditions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from eval.csvfile import Cell, write_rows
from eval.schema import Record
from eval.show import RATIOS, metric_names

FACTS = ("task", "subset", "tags", "system", "model", "tokenizer", "seed", "documents", "n", "refused", "reason")
FIXED = (*FACTS, *RATIOS, "prepare_seconds", "seconds")
"""Columns of every file; the metrics follow, each with its `_low` and `_high`."""


def by_task(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Records of each task, in their order."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.task, []).append(record)
    return found


def file_name(run: str, records: Sequence[Record]) -> str:
    """`RUN_TASK_N-documents_MODEL_seed-S.csv` of the records of one task; N is the most that a system served."""
    first = records[0]
    documents = max(record.documents for record in records)
    parts = (run, first.task, f"{documents}-documents", Path(first.model).name, f"seed-{first.seed}")
    return "_".join(re.sub(r"[^\w.-]+", "-", part).strip("-") for part in parts) + ".csv"


def rows_of(records: Sequence[Record]) -> list[dict[str, Cell]]:
    """A row for every record of one task. A value that does not exist is None."""
    metrics = metric_names(records)
    return [row_of(record, metrics) for record in records]


def row_of(record: Record, metrics: Sequence[str]) -> dict[str, Cell]:
    """One line of the file."""
    row: dict[str, Cell] = {name: getattr(record, name) for name in FIXED if name != "tags"}
    row["tags"] = ";".join(f"{name}={value}" for name, value in record.tags.items())
    row["reason"] = record.reason.replace(str(Path.home()), "~")  # the file is published, whose home it was is not
    found: dict[str, Cell] = {name: row[name] for name in FIXED}
    for name in metrics:
        estimate = record.metrics.get(name)
        found[name] = estimate.value if estimate else None
        found[f"{name}_low"] = estimate.low if estimate else None
        found[f"{name}_high"] = estimate.high if estimate else None
    return found


def metrics_of(columns: Sequence[str]) -> list[str]:
    """Names of the metrics of a file with these columns, the headline first."""
    return [name for name in columns if f"{name}_low" in columns and f"{name}_high" in columns]


def export(run: str, records: Sequence[Record], folder: Path) -> list[Path]:
    """Write the file of every task and return their paths.

    Raises:
        VtcError: the place cannot be written.
    """
    paths = []
    for rows in by_task(records).values():
        paths.append(folder / file_name(run, rows))
        write_rows(paths[-1], rows_of(rows))
    return paths
