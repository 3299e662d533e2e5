"""What an asking task shows beside its table: where the answers were wrong."""

from __future__ import annotations

from collections.abc import Sequence

from eval.reporting.characters import shortened, shown
from eval.reporting.heat import COLUMNS, MEASURE, ROWS, grid, heat_table
from eval.schema import Sample

FAILED = 10
"""Probes a system."""
LONGEST = 400
"""Characters of a question or an answer; a question's end is what asks."""


def heat_tables(systems: dict[str, list[Sample]]) -> str:
    """HTML of a depth x length grid for every system, empty where the task has none."""
    grids = {system: grid(rows) for system, rows in systems.items()}
    grids = {system: found for system, found in grids.items() if found}
    if not any(len(found) > 1 for found in grids.values()):
        return ""
    tables = "".join(heat_table(system, found) for system, found in grids.items())
    return (
        f"<h3>Right answers by {ROWS} and {COLUMNS}</h3>"
        f'<p class="hint">Share of right answers over all kinds of probes; {ROWS} is where in the document the answer '
        f'stands, {COLUMNS} how long the document is.</p><div class="heats">{tables}</div>'
    )


def failed_probes(systems: dict[str, list[Sample]]) -> str:
    """HTML of the first probes of every system that were answered wrongly; empty where nothing is right or wrong."""
    parts = []
    for system, rows in systems.items():
        asked = [row for row in rows if not row.refused and MEASURE in row.measures]
        failed = [row for row in asked if row.measures[MEASURE] < 1]
        if not asked:
            continue
        if not failed:
            parts.append(f"<p><b>{shown(system)}</b>: all {len(asked)} right.</p>")
            continue
        few = f", the first {FAILED}" if len(failed) > FAILED else ""
        parts.append(
            f"<details><summary><b>{shown(system)}</b>: {len(failed)} of {len(asked)} wrong{few}</summary>"
            f"{probe_table(failed[:FAILED])}</details>"
        )
    return "<h3>Wrong answers</h3>" + "".join(parts) if parts else ""


def probe_table(samples: Sequence[Sample]) -> str:
    """Question, expected and given answer."""
    lines = "".join(
        f'<tr><td><span class="text" dir="auto">{question(sample)}</span><small>{where(sample)}</small></td>'
        f'<td><span class="text" dir="auto">{shown(shortened(sample.reference, LONGEST))}</span></td>'
        f'<td><span class="text" dir="auto">{given(sample)}</span></td></tr>'
        for sample in samples
    )
    head = '<tr><th scope="col">question</th><th scope="col">expected</th><th scope="col">got</th></tr>'
    return f'<div class="scroll"><table class="probes"><thead>{head}</thead><tbody>{lines}</tbody></table></div>'


def question(sample: Sample) -> str:
    """What was asked; of a long prompt the end."""
    text = sample.prompt or sample.probe
    return shown(text if len(text) <= LONGEST else "…" + text[-LONGEST:])


def given(sample: Sample) -> str:
    """The answer; a choice is taken by its likelihood and leaves no text."""
    return shown(shortened(sample.output, LONGEST)) if sample.output else '<span class="none">another choice</span>'


def where(sample: Sample) -> str:
    """Document and tags."""
    tags = "".join(f", {name} {value}" for name, value in sample.tags.items())
    return shown(f"{sample.item}{tags}")
