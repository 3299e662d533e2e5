"""Records as CSV, JSON and a plot in one folder."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vtc.measuring.plot import plot
from vtc.measuring.readplot import reading_plot
from vtc.records.artefact import atomic_write, explain
from vtc.records.errors import VtcError


def save(records: Sequence[dict[str, Any]], folder: str | Path) -> list[Path]:
    """Write `measure.csv`, `measure.json` and `measure.png`, each atomically; the folder is made.

    Raises:
        VtcError: the place cannot be written.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VtcError(explain(error, folder)) from error
    contents = {
        "measure.csv": csv_of(records).encode(),
        "measure.json": (json.dumps(records, indent=1, ensure_ascii=False) + "\n").encode(),
        "measure.png": reading_plot(records) if "reader" in records[0] else plot(records),
    }
    for name, data in contents.items():
        with atomic_write(folder / name) as stream:
            stream.write(data)
    return [folder / name for name in contents]


def csv_of(records: Sequence[dict[str, Any]]) -> str:
    """One line per record under one of headings; floats at 6 decimals, None as an empty cell."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(records[0]), lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow({k: f"{v:.6f}" if isinstance(v, float) else v for k, v in record.items()})
    return text.getvalue()
