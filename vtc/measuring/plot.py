"""Ratio against fidelity, and bits per token against ratio, as one PNG."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Told apart by colour-blind readers (Okabe and Ito 2008)."""
SIZE = (11.0, 4.6)  # inches
DPI = 130


def plot(records: Sequence[dict[str, Any]]) -> bytes:
    """PNG of two panels over `latent_ratio` on a log axis: character accuracy, and bits per token of the document."""
    from matplotlib.figure import Figure  # slow to import, needed here only

    figure = Figure(figsize=SIZE, dpi=DPI, layout="constrained")
    fidelity, bits = figure.subplots(1, 2)
    for colour, (name, rows) in zip(cycle(COLOURS), _series(records).items(), strict=False):
        _draw(fidelity, rows, "char_accuracy_mean", "unverified_char_accuracy_mean", colour, name)
        _draw(bits, rows, "bits_per_token", None, colour, name)
    _baselines(bits, records)
    fidelity.set_title("Fidelity", loc="left", fontweight="bold")
    fidelity.set_ylabel("character accuracy, raw (mean over pages)")
    fidelity.set_ylim(0, 1.05)
    fidelity.plot([], [], "o--", color="grey", markerfacecolor="white", label="the same, unverified")
    bits.set_title("Size", loc="left", fontweight="bold")
    bits.set_ylabel("bits per token, side information included")
    bits.set_yscale("log")
    ratios = [r[k] for r in records for k in ("latent_ratio", "unverified_latent_ratio") if r[k]]
    for axes in (fidelity, bits):
        _style(axes, ratios)
    fidelity.legend(frameon=False, loc="lower left", fontsize=9)
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    return stream.getvalue()


def _series(records: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Records that differ in density alone, by a label of what sets them apart from the others."""
    names = ("file", "codec", "dtype", "alphabet", "prior", "width")
    varied = [name for name in names if len({record[name] for record in records}) > 1] or ["codec", "dtype"]
    found: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        parts = {**record, "file": Path(record["file"]).name, "width": f"width {record['width']}"}
        found.setdefault(", ".join(str(parts[name]) for name in varied), []).append(record)
    return {name: sorted(rows, key=lambda row: row["density"]) for name, rows in found.items()}


def _draw(axes: Any, rows: list[dict[str, Any]], field: str, loose: str | None, colour: str, name: str) -> None:
    kept = [row for row in rows if row["latent_ratio"] and row[field] is not None]
    axes.plot(
        [row["latent_ratio"] for row in kept], [row[field] for row in kept], "o-", color=colour, label=name, zorder=3
    )
    if loose:
        open_ones = [row for row in rows if row["unverified_latent_ratio"] and row[loose] is not None]
        x, y = ([row[key] for row in open_ones] for key in ("unverified_latent_ratio", loose))
        axes.plot(x, y, "o--", color=colour, markerfacecolor="white", linewidth=1, zorder=2)


def _baselines(axes: Any, records: Sequence[dict[str, Any]]) -> None:
    """Raw ids and zstd of the first file as lines."""
    first = records[0]
    for field, label in (("raw_ids_bytes", "raw token ids"), ("zstd19_bytes", "zstd -19")):
        if first[field]:
            level = 8 * first[field] / first["text_tokens"]
            axes.axhline(level, color="grey", linestyle=":", linewidth=1)
            axes.annotate(label, (1, level), (-4, 3), xycoords=("axes fraction", "data"), textcoords="offset points",
                          ha="right", fontsize=8, color="dimgrey")  # fmt: skip


def _style(axes: Any, ratios: list[float]) -> None:
    from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator, ScalarFormatter

    axes.set_xlabel("latent_ratio (tokens : latents, nominal)")
    axes.set_xscale("log", base=2)
    low, high = (min(ratios), max(ratios)) if ratios else (1, 2)
    axes.set_xlim(low / 1.25, high * 1.25)
    axes.xaxis.set_major_locator(FixedLocator([2**k for k in range(16)]))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_locator(NullLocator())
    if axes.get_yscale() == "log":
        low, high = axes.get_ylim()
        axes.yaxis.set_major_locator(FixedLocator([t * 10**k for k in range(-1, 5) for t in (1, 2, 5)]))
        axes.yaxis.set_major_formatter(ScalarFormatter())
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_ylim(low / 1.2, high * 1.2)
    axes.grid(color="#e6e6e6")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
