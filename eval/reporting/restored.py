"""What a restoring task shows beside its table: which kinds of words came back, and the worst pages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eval.bootstrap import Metric, Totals, estimates
from eval.reporting.characters import shown, system_name
from eval.reporting.differences import columns
from eval.schema import Sample
from eval.show import NONE

CLASSES = {
    "words with digits": ("digit_found", "digit_total"),
    "identifiers": ("identifier_found", "identifier_total"),
    "alphabetic words": ("alphabetic_found", "alphabetic_total"),
    "repeated lines": ("repeat_right", "repeat_total"),
}
"""Of each class: the measures that count what came back and what there was."""
ACCURACY = "char_accuracy"
WORST = 3
"""Pages a system."""


def class_table(systems: dict[str, list[Sample]], seed: int) -> str:
    """HTML of the recall of each class by system; empty where the task counts none.

    Args:
        systems: samples by system.
        seed: of the intervals.
    """
    served = {name: [row for row in rows if not row.refused] for name, rows in systems.items()}
    measured = {name for rows in served.values() for row in rows for name in row.measures}
    there = {name: pair for name, pair in CLASSES.items() if set(pair) <= measured}
    if not there:
        return ""
    head = "".join(f'<th scope="col">{name}</th>' for name in there)
    lines = [
        f'<tr><th scope="row" class="system">{system_name(system)}</th>'
        + "".join(_recall(rows, *pair, seed) for pair in there.values())
        + "</tr>"
        for system, rows in served.items()
        if rows
    ]
    return (
        '<h3>What came back, by kind</h3><div class="scroll"><table class="results"><thead><tr>'
        f'<th scope="col" class="system">system</th>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
    )


def _recall(rows: Sequence[Sample], found: str, total: str, seed: int) -> str:
    """Percentage, interval, and how many were lost; the bar behind it ends where the percentage does."""

    def share(own: Totals, _: object) -> np.ndarray:
        return own.share(found, total)

    estimate = estimates({"recall": Metric(share)}, rows, {}, seed).get("recall")
    if estimate is None:
        return f'<td class="none">{NONE}</td>'
    wanted = sum(row.measures.get(total, 0.0) for row in rows)
    lost = wanted - sum(row.measures.get(found, 0.0) for row in rows)
    value, low, high = (f"{100 * number:.1f}" for number in (estimate.value, estimate.low, estimate.high))
    value = f"{100 * estimate.value:.2f}" if lost and value == "100.0" else value
    return (
        f'<td class="bar" style="--share:{100 * estimate.value:.2f}%">{value} % <small>[{low}, {high}] '
        f"{lost:,.0f} of {wanted:,.0f} lost</small></td>"
    )


def worst_pages(systems: dict[str, list[Sample]]) -> str:
    """HTML of the pages with the lowest character accuracy of every system, the differences marked."""
    parts = []
    for system, rows in systems.items():
        scored = [row for row in rows if not row.refused and ACCURACY in row.measures]
        if not scored:
            continue
        bad = sorted((row for row in scored if row.reference != row.output), key=lambda row: row.measures[ACCURACY])
        if not bad:
            parts.append(f"<p><b>{shown(system)}</b>: all {len(scored)} came back exactly.</p>")
            continue
        pages = "".join(page(row) for row in bad[:WORST])
        opened = " open" if not any("<details" in part for part in parts) else ""
        parts.append(
            f"<details{opened}><summary><b>{shown(system)}</b>: {len(bad)} of {len(scored)} differ; the worst "
            f"{min(WORST, len(bad))}</summary>{pages}</details>"
        )
    if not parts:
        return ""
    legend = (
        '<p class="hint">Left what went in, right what came back: <del>lost</del>, <ins>put in its place</ins>; a bar '
        '<span class="gap"></span> stands where the other side has more. Where texts differ, spaces, line ends and '
        "invisible characters are pointed out.</p>"
    )
    return f"<h3>Worst pages</h3>{legend}" + "".join(parts)


def page(sample: Sample) -> str:
    """One page, reference and output side by side."""
    left, right = columns(sample.reference, sample.output)
    return (
        f'<div class="pair"><h4>{shown(sample.item)} <small>{shown(sample.subset)}, character accuracy '
        f"{100 * sample.measures[ACCURACY]:.2f} %</small></h4>"
        f'<div class="sides"><div><h5>reference</h5><div class="text" dir="auto">{left}</div></div>'
        f'<div><h5>restored</h5><div class="text" dir="auto">{right}</div></div></div></div>'
    )
