"""Records as HTML tables: a metric large, its interval small; a reason where numbers are missing."""

from __future__ import annotations

from collections.abc import Sequence

from eval.reporting.characters import shown, system_name
from eval.schema import Estimate, Record
from eval.show import NONE, RATIOS, estimate, metric_names, ratio

COSTS = {"prepare_seconds": "prepare s", "seconds": "probe s"}


def result_table(records: Sequence[Record], group: str = "") -> str:
    """HTML of records of one task.

    Args:
        group: heading of a first column that says which subset or tag value a row is about; without it there is none.
    """
    metrics = metric_names(records)
    ratios = [name for name in RATIOS if any(getattr(record, name) is not None for record in records)]
    numbers = ["documents", "n", *ratios, *metrics, *COSTS.values()]
    head = "".join(f'<th scope="col">{shown(name.replace("_", " "))}</th>' for name in numbers)
    lines, last = [], ""
    for record in records:
        name = group_of(record)
        first = f'<th scope="row">{shown(name if name != last else "")}</th>' if group else ""
        begins = ' class="begins"' if group and name != last else ""
        lines.append(f"<tr{begins}>{first}{_line(record, ratios, metrics, len(numbers))}</tr>")
        last = name
    corner = f'<th scope="col">{shown(group)}</th>' if group else ""
    return (
        f'<div class="scroll"><table class="results"><thead><tr>{corner}<th scope="col" class="system">system</th>'
        f"{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def group_of(record: Record) -> str:
    """Which part of the task a record is about."""
    return ", ".join(record.tags.values()) or record.subset


def split_tables(records: Sequence[Record]) -> str:
    """The tables of subsets and of each tag, folded away; records of one task."""
    found: dict[str, list[Record]] = {}
    for record in records:
        if record.tags:
            found.setdefault(" and ".join(record.tags), []).append(record)
        elif record.subset != "all":
            found.setdefault("subset", []).append(record)
    return "".join(
        f"<details><summary>By {shown(name)} ({len({group_of(row) for row in rows})})</summary>"
        f"{result_table(rows, name)}</details>"
        for name, rows in found.items()
    )


def metric_cell(found: Estimate | None, documents: int) -> str:
    """A metric and its interval, which one document alone does not have."""
    if found is None:
        return f'<td class="none">{NONE}</td>'
    value, _, interval = estimate(found, documents).partition(" ")
    return f"<td>{value} <small>{interval}</small></td>"


def _line(record: Record, ratios: Sequence[str], metrics: Sequence[str], width: int) -> str:
    reason = f"{record.refused} not served: {shown(record.reason)}" if record.refused else ""
    if not record.documents:
        return (
            f'<th scope="row" class="system">{system_name(record.system)}</th>'
            f'<td class="reason" colspan="{width}"><span>{reason or "nothing was asked of it"}</span></td>'
        )
    note = f'<small class="reason">{reason}</small>' if reason else ""
    cells = [
        *(f"<td>{count:,}</td>" for count in (record.documents, record.n)),
        *(f"<td>{ratio(getattr(record, name))}</td>" for name in ratios),
        *(metric_cell(record.metrics.get(name), record.documents) for name in metrics),
        *(f"<td>{getattr(record, name):.2f}</td>" for name in COSTS),
    ]
    return f'<th scope="row" class="system">{system_name(record.system)}{note}</th>' + "".join(cells)
