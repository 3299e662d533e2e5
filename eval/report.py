"""Make the result files, plots and HTML reports of runs, and fill the tables of the README and of docs/readers.md.

    python -m eval.report runs/quick          RUN/report.html, eval/results/quick_TASK_*.csv and .png, then the tables
    python -m eval.report                     the tables alone

Prints the paths of what it wrote. Several runs may be named; each must be finished (`python -m eval.run`).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from eval.csvfile import RESULTS, read_rows
from vtc.records.artefact import atomic_write, explain
from vtc.records.errors import VtcError

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "readers.md")
"""Markdown files whose tables come from the result files."""


def report(run: Path, results: Path = RESULTS) -> list[Path]:
    """Write the CSV and the plot of every task into `results`, and `report.html` into the run's folder.

    Raises:
        VtcError: the run is not finished, or a place cannot be written.
    """
    from eval.reporting.charts import chart  # the README alone needs no run folder, and so no torch
    from eval.reporting.export import export
    from eval.reporting.page import write_page
    from eval.runfolder import load_records, load_samples

    records, samples = load_records(run), load_samples(run)
    written, plots = [], {}
    for path in export(run.resolve().name, records, results):
        rows = read_rows(path)
        written.append(path)
        image = chart(rows)
        if image is None:
            continue
        plots[rows[0]["task"]] = image
        written.append(path.with_suffix(".png"))
        with atomic_write(written[-1]) as stream:
            stream.write(image)
    return [*written, write_page(run, records, samples, plots)]


def fill_tables(path: Path) -> None:
    """Make the tables of a Markdown file of this repository anew.

    Raises:
        VtcError: a marker or a result file is wrong, or the file cannot be read or written.
    """
    from eval.reporting.readme import fill

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise VtcError(explain(error, path)) from error
    try:
        filled = fill(text, os.path.relpath(ROOT, path.resolve().parent))
    except VtcError as error:
        raise VtcError(f"{path.name}: {error}") from error
    if filled != text:
        with atomic_write(path) as stream:
            stream.write(filled.encode())


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m eval.report",
        description="Make the result files, plots and HTML reports of runs, and fill the tables of Markdown files.",
        epilog="example: python -m eval.report runs/quick",
    )
    parser.add_argument("runs", metavar="RUN", type=Path, nargs="*", help="folder of a finished run")
    parser.add_argument("--results", metavar="DIR", type=Path, default=RESULTS, help="where the CSVs and plots go")
    parser.add_argument(
        "--readme", metavar="FILE", type=Path, nargs="+", default=PAGES, help="default: README.md and docs/readers.md"
    )
    options = parser.parse_args(arguments)
    try:
        for run in options.runs:
            for path in report(run, options.results):
                print(path)
        for path in options.readme:
            fill_tables(path)
            print(path)
    except VtcError as error:
        print(f"eval.report: {error}", file=sys.stderr)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
