"""`report.html` of a run: one file that needs no network and runs nothing.

Its numbers are the run folder's records and samples; its plots are drawn from the same CSV that `eval/results/` gets.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.reporting.asked import failed_probes, heat_tables
from eval.reporting.characters import shown
from eval.reporting.charts import DPI
from eval.reporting.export import by_task
from eval.reporting.restored import class_table, worst_pages
from eval.reporting.style import STYLE
from eval.reporting.tables import result_table, split_tables
from eval.schema import Record, Sample
from vtc.records.artefact import atomic_write

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""Nothing is fetched and no script runs, whatever the texts hold."""

SCREEN_DPI = 96

READING = """<details><summary>How to read the tables</summary>
<p><b>position ratio</b>: tokens of the text : positions that the model's attention sees for it. <b>latent ratio</b>:
tokens : latents, nominal. <b>byte ratio</b>: bytes of the text : bytes of the stored document, all side information
counted. All are N : 1, higher is smaller.</p>
<p>In brackets: 95 % interval of the bootstrap over documents; a system and its controls are drawn together.
<b>documents</b> were served, with <b>n</b> probes on them. <b>prepare</b>: mean seconds from the text to the first
probe; <b>probe</b>: mean seconds of one. <b>none</b> is the model without the document, <b>text</b> with all of it.</p>
</details>"""


def write_page(run: Path, records: Sequence[Record], samples: Sequence[Sample], plots: Mapping[str, bytes]) -> Path:
    """Write `report.html` into the run's folder.

    Args:
        plots: PNG by task.

    Raises:
        VtcError: the place cannot be written.
    """
    path = run / "report.html"
    with atomic_write(path) as stream:
        stream.write(page(run, records, samples, plots).encode())
    return path


def page(run: Path, records: Sequence[Record], samples: Sequence[Sample], plots: Mapping[str, bytes]) -> str:
    """The whole page."""
    tasks = by_task(records)
    seed = records[0].seed if records else 0
    title = f"Evaluation run {run.resolve().name}"
    links = "".join(f'<a href="#task-{number}">{shown(task)}</a>' for number, task in enumerate(tasks))
    body = "".join(
        section(number, task, rows, [sample for sample in samples if sample.task == task], plots.get(task), seed)
        for number, (task, rows) in enumerate(tasks.items())
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{shown(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{shown(title)}</h1>\n{conditions(run)}\n<nav>{links}</nav>\n{READING}\n{body}\n</body>\n</html>\n"
    )


def section(
    number: int, task: str, records: Sequence[Record], samples: Sequence[Sample], plot: bytes | None, seed: int
) -> str:
    """One task: table, plot, tables of its parts, and what went wrong."""
    systems: dict[str, list[Sample]] = {}
    for sample in samples:
        systems.setdefault(sample.system, []).append(sample)
    whole = [record for record in records if record.subset == "all" and not record.tags]
    parts = [
        f'<section><h2 id="task-{number}">{shown(task)}</h2>',
        result_table(whole),
        figure(task, plot),
        split_tables(records),
        class_table(systems, seed),
        heat_tables(systems),
        worst_pages(systems),
        failed_probes(systems),
        "</section>",
    ]
    return "\n".join(filter(None, parts))


def figure(task: str, plot: bytes | None) -> str:
    """The plot, or that there is none."""
    if plot is None:
        return '<p class="hint">No plot: no system has both a ratio and a score.</p>'
    data = base64.b64encode(plot).decode()
    width = round(int.from_bytes(plot[16:20], "big") * SCREEN_DPI / DPI)  # pixels, in a PNG's first chunk
    text = f"{task}: headline metric against compression ratio on a log axis, bars are 95 % intervals."
    return (
        f'<figure><img style="max-width:{width}px" src="data:image/png;base64,{data}" alt="{shown(text)}">'
        f"<figcaption>{shown(text)}</figcaption></figure>"
    )


def conditions(run: Path) -> str:
    """What was run, on what: the run folder's own words."""
    env = _json(run / "env.json")
    commit = shown(str(env.pop("commit", None) or "unknown")[:12])
    dirty = env.pop("dirty", False)
    facts = {"commit": commit + (' <span class="warn">with uncommitted changes</span>' if dirty else "")}
    facts |= {name: shown(str(value)) for name, value in env.items() if value is not None}
    first = ("commit", "seed", "llm", "threads", "processes")
    entries = {name: "".join(f"<dt>{shown(key)}</dt><dd>{facts[key]}</dd>" for key in keys) for name, keys in (
        ("first", [key for key in first if key in facts]),
        ("rest", [key for key in facts if key not in first]),
    )}  # fmt: skip
    command, config = (_text(run / name) for name in ("command.txt", "config.yaml"))
    return (
        f"<dl>{entries['first']}</dl><pre>{shown(command)}</pre>"
        f"<details><summary>Machine, versions and configuration</summary><dl>{entries['rest']}</dl>"
        f"<pre>{shown(config)}</pre></details>"
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(_text(path))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").strip()
    except OSError:
        return ""
