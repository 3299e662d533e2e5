"""Result files: CSV with one header line, written atomically, floats at 6 decimals so that a re-run gives the same
bytes, a value that does not exist (nan) as an empty cell.

The name of a result file states the conditions: `SYSTEM_DATA-PAGES_CONDITION.csv`.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from vtc.records.artefact import atomic_write, explain
from vtc.records.errors import VtcError

RESULTS = Path(__file__).resolve().parent / "results"
Cell = str | int | float | bool | None


def write_rows(path: str | Path, rows: Sequence[Mapping[str, Cell]]) -> None:
    """Write rows that share their columns; the directory is made.

    Raises:
        ValueError: no rows, or one with other columns than the first.
        VtcError: the place cannot be written.
    """
    if not rows:
        raise ValueError(f"{path}: no rows to write")
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        if list(row) != list(rows[0]):
            raise ValueError(f"{path}: columns differ: {list(row)} and {list(rows[0])}")
        writer.writerow({name: _shown(cell) for name, cell in row.items()})
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VtcError(explain(error, path.parent)) from error
    with atomic_write(path) as stream:
        stream.write(text.getvalue().encode())


def read_rows(path: str | Path) -> list[dict[str, str]]:
    """Rows of a result file, cells as text.

    Raises:
        VtcError: it is missing or unreadable.
    """
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))
    except OSError as error:
        raise VtcError(explain(error, path)) from error


def _shown(cell: Cell) -> Cell:
    if not isinstance(cell, float):
        return cell
    return "" if math.isnan(cell) else f"{cell:.6f}"
