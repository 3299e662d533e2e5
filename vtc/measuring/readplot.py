"""Position ratio against context recovery and agreement, as one PNG."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from vtc.measuring.plot import COLOURS, DPI, SIZE

CONTROL = "truncate"
PANELS = {
    "context_recovery": ("Context recovery", "0: no context, 1: all of it"),
    "agreement": ("Agreement", "share of most likely tokens that are the full text's"),
}


def reading_plot(records: Sequence[dict[str, Any]]) -> bytes:
    """PNG of two panels over `position_ratio` on a log axis; the control is dashed, bars are 95 % intervals."""
    from matplotlib.figure import Figure  # slow to import, needed here only

    figure = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
    for axes, (field, (title, label)) in zip(figure.subplots(1, 2), PANELS.items(), strict=True):
        for colour, path in zip(cycle(COLOURS), dict.fromkeys(record["file"] for record in records), strict=False):
            mine = [record for record in records if record["file"] == path]
            for reader in dict.fromkeys(record["reader"] for record in mine):
                rows = [record for record in mine if record["reader"] == reader and record[field] is not None]
                _draw(axes, rows, field, colour, f"{Path(path).name}, {reader}", reader == CONTROL)
        axes.set_title(title, loc="left", fontweight="bold")
        axes.set_ylabel(label)
        axes.set_ylim(top=max(1.05, axes.get_ylim()[1]))
        _style(axes, [record["position_ratio"] for record in records])
    axes.legend(frameon=False, loc="best", fontsize=9)
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    return stream.getvalue()


def _draw(axes: Any, rows: list[dict[str, Any]], field: str, colour: str, name: str, control: bool) -> None:
    """One reader on one file."""
    rows = sorted(rows, key=lambda row: row["position_ratio"])
    x, y = ([row[key] for row in rows] for key in ("position_ratio", field))
    form = {"linestyle": "--", "markerfacecolor": "white"} if control else {"linestyle": "-"}
    axes.plot(x, y, marker="o", color=colour, label=name, **form)
    for row in rows:
        low, high = (row.get(f"{field}_{end}") for end in ("low", "high"))
        if low is not None:
            axes.plot([row["position_ratio"]] * 2, [low, high], color=colour, linewidth=1, alpha=0.6)


def _style(axes: Any, ratios: Sequence[float]) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

    axes.set_xlabel("position_ratio (tokens : positions)")
    axes.set_xscale("log", base=2)
    axes.set_xlim(min(ratios) / 1.25, max(ratios) * 1.25)
    axes.xaxis.set_major_locator(FixedLocator([2**k for k in range(16)]))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(color="#e6e6e6")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
