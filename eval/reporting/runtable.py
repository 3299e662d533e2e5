"""One CSV of a run as a table of a Markdown file:
`<!-- table: run PATTERN [columns=NAME,..] [systems=NAME,..] [subset=NAME] -->`.

`PATTERN` matches the one file in eval/results/, such as `quick_needle_*.csv`. `columns` picks metrics and ratios, in
that order; without it all that are filled are shown. `systems` picks rows by a system's name without its options.
`subset=*` shows every subset instead of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from eval.reporting.export import metrics_of
from eval.schema import Estimate
from eval.show import NONE, RATIOS, estimate, ratio
from vtc.records.errors import VtcError
from vtc.records.suggest import unknown

OPTIONS = ("columns", "systems", "subset")

Rows = Sequence[Mapping[str, str]]


def parse_marker(text: str) -> tuple[str, dict[str, str]]:
    """The file pattern and the options of a marker.

    Raises:
        VtcError: no pattern, or an option that is none.
    """
    pattern, *rest = text.split() or [""]
    options = dict((name, value) for name, _, value in (part.partition("=") for part in rest))
    if not pattern.endswith(".csv"):
        raise VtcError(f"'table: run {text}' names no CSV; write: table: run NAME_TASK_*.csv")
    for name in options:
        if name not in OPTIONS:
            raise VtcError(unknown("option of a table", name, OPTIONS))
    return pattern, options


def run_table(rows: Rows, file: str, options: Mapping[str, str]) -> tuple[list[str], list[list[str]]]:
    """Head and cells.

    Raises:
        VtcError: the file has no such column or subset, or is not of a run.
    """
    wanted = options.get("subset", "all")
    chosen = [row for row in rows if not row.get("tags") and wanted in ("*", row.get("subset"))]
    if not chosen or not all(name in rows[0] for name in RATIOS):
        raise VtcError(f"{file}: holds no rows of a run's subset {wanted!r}; name another subset or file")
    if "systems" in options:
        chosen = of_systems(chosen, file, options["systems"].split(","))
    metrics = metrics_of(list(rows[0]))
    filled = [name for name in (*RATIOS, *metrics) if any(row[name] for row in chosen)]
    columns = options["columns"].split(",") if "columns" in options else filled
    for name in columns:
        if name not in (*RATIOS, *metrics):
            raise VtcError(f"{file}: {unknown('column', name, (*RATIOS, *metrics))}")
    refused = any(int(row["refused"]) for row in chosen)
    head = ["subset"] if wanted == "*" else []
    head += ["system", "documents", "n", *(f"`{name}`" for name in columns), *(["not served"] if refused else [])]
    body = []
    for row in chosen:
        line = [row["subset"]] if wanted == "*" else []
        line += [plain(row["system"]), row["documents"], row["n"], *(cell(row, name) for name in columns)]
        if refused:
            line.append(f"{row['refused']}: {plain(row['reason'])}" if int(row["refused"]) else "")
        body.append(line)
    return head, body


def of_systems(rows: Rows, file: str, names: Sequence[str]) -> list[Mapping[str, str]]:
    """Rows of the systems of these names, with whatever options, in the file's order.

    Raises:
        VtcError: the file has no such system.
    """
    own = [row["system"].partition(":")[0] for row in rows]
    for name in names:
        if name not in own:
            raise VtcError(f"{file}: {unknown('system', name, list(dict.fromkeys(own)))}")
    return [row for row, found in zip(rows, own, strict=True) if found in names]


def run_note(rows: Rows, file: str) -> str:
    """Under what conditions, and where the file is."""
    first = rows[0]
    return (
        f"Model and tokenizer {first['model']}, seed {first['seed']}; in brackets the 95 % interval of the bootstrap "
        f"over documents; [`{file}`](eval/results/{file}) (`python -m eval.run`, `python -m eval.report`)."
    )


def cell(row: Mapping[str, str], name: str) -> str:
    """A ratio, or a metric with its interval; a missing value is a dash."""
    if not row[name]:
        return NONE
    if name in RATIOS:
        return ratio(float(row[name]))
    value, low, high = (float(row[key]) for key in (name, f"{name}_low", f"{name}_high"))
    return estimate(Estimate(value, low, high), int(row["documents"]))


def plain(text: str) -> str:
    """On one line and without what would end a cell."""
    return " ".join(text.split()).replace("|", "\\|")
