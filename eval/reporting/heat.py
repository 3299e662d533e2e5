"""Share of right answers over two tags, as an HTML table whose cells are coloured and hold the number."""

from __future__ import annotations

import html
from collections.abc import Sequence

from eval.schema import Sample

ROWS, COLUMNS, MEASURE = "depth", "length", "correct"
LOW, HIGH = (122, 40, 20), (222, 240, 232)
"""Colours of 0 and 1: dark to light, so that a failure stands out in grey too."""

Grid = dict[tuple[str, str], tuple[float, int]]


def grid(samples: Sequence[Sample]) -> Grid:
    """Mean of `MEASURE` and number of probes by (depth, length), over served probes that have both tags."""
    found: dict[tuple[str, str], list[float]] = {}
    for sample in samples:
        if not sample.refused and {ROWS, COLUMNS} <= set(sample.tags) and MEASURE in sample.measures:
            found.setdefault((sample.tags[ROWS], sample.tags[COLUMNS]), []).append(sample.measures[MEASURE])
    return {key: (sum(values) / len(values), len(values)) for key, values in found.items()}


def heat_table(title: str, found: Grid) -> str:
    """HTML of one system's grid: lengths along, depths down; a cell without probes is a dash."""
    rows, columns = (sorted({key[side] for key in found}, key=magnitude) for side in (0, 1))
    head = "".join(f'<th scope="col">{html.escape(column)}</th>' for column in columns)
    lines = [
        f'<tr><th scope="row">{html.escape(row)}</th>'
        + "".join(cell(found.get((row, column))) for column in columns)
        + "</tr>"
        for row in rows
    ]
    return (
        f'<div class="heat"><h4>{html.escape(title)}</h4><div class="scroll"><table>'
        f'<tr><th class="corner">{ROWS} ╲ {COLUMNS}</th>{head}</tr>' + "".join(lines) + "</table></div></div>"
    )


def cell(value: tuple[float, int] | None) -> str:
    """One coloured cell."""
    if value is None:
        return '<td class="none">–</td>'
    mean, count = value
    share = min(1.0, max(0.0, mean))
    mixed = [round(low + (high - low) * share) for low, high in zip(LOW, HIGH, strict=True)]
    ink = "#111" if sum(mixed) > 400 else "#fff"
    return (
        f'<td style="background:rgb({mixed[0]},{mixed[1]},{mixed[2]});color:{ink}" '
        f'title="{count} probes">{mean:.2f}</td>'
    )


def magnitude(value: str) -> tuple[float, str]:
    """Order of a tag's values: numbers by size, words after them."""
    try:
        return float(value), ""
    except ValueError:
        return float("inf"), value
