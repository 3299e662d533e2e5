"""The plot of one task, drawn from its CSV and nothing else: the headline metric against the compression ratio."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

from eval.reporting.export import metrics_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 130
FLOOR = -0.25
"""Lowest value that is drawn where 0 is what no context gives: far below it there is only how badly something fails."""
CONTROLS = ("none", "text")
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Told apart by colour-blind readers (Okabe and Ito 2008); in grey the markers and strokes tell lines apart."""
CONTROL = " (control)"
MARKERS = "osD^vPX<>"
STROKES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
AXES = {
    "position_ratio": "position_ratio (tokens : positions that attention sees)",
    "latent_ratio": "latent_ratio (tokens : latents, nominal)",
    "byte_ratio": "byte_ratio (UTF-8 bytes : bytes of the stored document)",
}

Rows = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class Point:
    """One system in the plot."""

    ratio: float
    value: float
    low: float
    high: float


def whole(rows: Rows) -> Rows:
    """Rows about all of the task, not about a subset or a group."""
    return [row for row in rows if row["subset"] == "all" and not row["tags"]]


def axes_of(rows: Rows) -> list[str]:
    """What the plot is over: positions where a model reads, else latents and bytes, as far as a system has them."""
    chosen = [row for row in whole(rows) if row["system"] not in CONTROLS and int(row["documents"])]
    there = {name: sum(bool(row[name]) for row in chosen) for name in AXES}
    if 2 * there.pop("position_ratio") > len(chosen):
        return ["position_ratio"]
    return [name for name, count in there.items() if count]


def family(system: str) -> str:
    """What a line stands for: the name, and those options that are words; along the line the numbers change."""
    name, _, options = system.partition(":")
    words = [option for option in options.split(",") if option and not _is_number(option.partition("=")[2])]
    return ", ".join([name, *(re.sub(r"_\d+$", "", word) for word in words)])  # clean_64 and clean_100 are one line


def lines(rows: Rows, axis: str, metric: str) -> dict[str, list[Point]]:
    """Points of each family of systems, by rising ratio."""
    found: dict[str, list[Point]] = {}
    for row in whole(rows):
        if row["system"] not in CONTROLS and row[axis] and row[metric]:
            values = [float(row[name]) for name in (axis, metric, f"{metric}_low", f"{metric}_high")]
            found.setdefault(family(row["system"]), []).append(Point(*values))
    return {name: sorted(points, key=lambda point: point.ratio) for name, points in found.items()}


def controls(rows: Rows, metric: str) -> dict[str, float]:
    """Values of the controls, which have no ratio that means something."""
    return {row["system"]: float(row[metric]) for row in whole(rows) if row["system"] in CONTROLS and row[metric]}


def chart(rows: Rows) -> bytes | None:
    """PNG of `drawn`; None where there is nothing to draw."""
    figure = drawn(rows)
    if figure is None:
        return None
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    return stream.getvalue()


def drawn(rows: Rows) -> Figure | None:
    """The figure, a panel for each ratio; None where no system has both a ratio and a value."""
    from matplotlib.figure import Figure  # slow to import, needed here only

    metrics = metrics_of(list(rows[0])) if rows else []
    panels = [axis for axis in axes_of(rows) if metrics and lines(rows, axis, metrics[0])]
    if not panels:
        return None
    names = list(dict.fromkeys(name for axis in panels for name in lines(rows, axis, metrics[0])))
    looks = dict(zip(names, zip(cycle(COLOURS), cycle(MARKERS), cycle(STROKES), strict=False), strict=False))
    figure = Figure(figsize=(3.4 + 4.6 * len(panels), 4.4), dpi=DPI, layout="constrained")
    all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, axis in zip(all_axes, panels, strict=True):
        _draw(axes, lines(rows, axis, metrics[0]), looks)
        _controls(axes, controls(rows, metrics[0]))
        points = lines(rows, axis, metrics[0])
        _style(axes, AXES[axis], [point for found in points.values() for point in found])
        _below(axes, points)
    all_axes[0].set_ylabel(metrics[0].replace("_", " "))
    figure.legend(**_legend(all_axes), loc="outside right upper", frameon=False, fontsize=9)
    return figure


def _draw(axes: Any, found: Mapping[str, Sequence[Point]], looks: Mapping[str, Any]) -> None:
    for name, points in found.items():
        colour, marker, stroke = looks[name]
        spread = [
            [point.value - point.low for point in points],
            [point.high - point.value for point in points],
        ]
        axes.errorbar(
            [point.ratio for point in points],
            [point.value for point in points],
            yerr=[[max(0.0, length) for length in side] for side in spread],
            color=colour,
            marker=marker,
            linestyle=stroke,
            capsize=3,
            elinewidth=1,
            label=name,
        )


def _below(axes: Any, found: Mapping[str, Sequence[Point]]) -> None:
    """Cut the axis at `FLOOR`, and say which systems lie below it."""
    if axes.get_ylim()[0] >= FLOOR:
        return
    drawn = [point.high for points in found.values() for point in points if point.value >= FLOOR]
    axes.set_ylim(FLOOR, max([*drawn, *(line.get_ydata()[0] for line in axes.get_lines())]) + 0.05)
    names = [name for name, points in found.items() if any(point.value < FLOOR for point in points)]
    if names:
        axes.set_title(f"below the axis: {', '.join(names)}", fontsize=8, color="#555555", loc="left")


def _controls(axes: Any, found: Mapping[str, float]) -> None:
    for name, stroke in zip(CONTROLS, ((0, (2, 3)), (0, (7, 3))), strict=True):
        if name in found:
            axes.axhline(found[name], color="#555555", linestyle=stroke, linewidth=1.2, label=f"{name}{CONTROL}")


def _legend(all_axes: Sequence[Any]) -> dict[str, Any]:
    """Every name once, whichever panel it is in, the controls last."""
    found: dict[str, Any] = {}
    for axes in all_axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    labels = sorted(found, key=lambda label: label.endswith(CONTROL))
    return {"handles": [found[label] for label in labels], "labels": labels}


def _style(axes: Any, label: str, points: Sequence[Point]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    low, high = min(point.ratio for point in points), max(point.ratio for point in points)
    axes.set_xscale("log", base=2)
    axes.set_xlim(low / 1.4, high * 1.4)
    step = 4 if high / low > 2**9 else 2
    axes.xaxis.set_major_locator(FixedLocator([float(step) ** k for k in range(-12, 24)]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    if high / low < step:  # no power may lie between them
        axes.xaxis.set_major_locator(FixedLocator(sorted({low, high})))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
    axes.set_xlabel(label, fontsize=9)
    bottom, top = axes.get_ylim()
    if top - bottom < 0.05:
        middle = (top + bottom) / 2
        axes.set_ylim(middle - 0.025, middle + 0.025)
    axes.grid(color="#e6e6e6")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
