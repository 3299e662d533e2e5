"""Records as tables: on the terminal, in Markdown, in CSV. One place decides which columns there are."""

from __future__ import annotations

from collections.abc import Sequence

from eval.schema import Estimate, Record

RATIOS = ("position_ratio", "latent_ratio", "byte_ratio")
NONE = "–"


def tables(records: Sequence[Record]) -> str:
    """The tables of whole tasks as plain text; subsets and groups are left to the report."""
    whole = [rows for rows in split(records) if rows[0].subset == "all" and not rows[0].tags]
    blocks = [f"{rows[0].task}\n{aligned(*table(rows))}" for rows in whole]
    conditions = f"model and tokenizer {records[0].model}, seed {records[0].seed}" if records else "nothing was run"
    return "\n\n".join([*blocks, f"{conditions}; [95 % interval of the bootstrap over documents]"])


def split(records: Sequence[Record]) -> list[list[Record]]:
    """Records of the same task, subset and group together, in their order."""
    found: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        found.setdefault((record.task, record.subset, str(record.tags)), []).append(record)
    return list(found.values())


def metric_names(rows: Sequence[Record]) -> list[str]:
    """Metrics that any row has, in the order of the row that has most of them: the headline first."""
    fullest = sorted(rows, key=lambda row: -len(row.metrics))
    return list(dict.fromkeys(name for row in fullest for name in row.metrics))


def table(rows: Sequence[Record]) -> tuple[list[str], list[list[str]]]:
    """Head and cells of one table; columns that no row fills are left out."""
    metrics = metric_names(rows)
    head = ["system", "documents", "n", *RATIOS, *metrics, "prepare s", "probe s", "not served"]
    body = []
    for row in rows:
        served = row.documents > 0
        body.append(
            [
                row.system,
                str(row.documents),
                str(row.n),
                *(ratio(getattr(row, name)) for name in RATIOS),
                *(estimate(row.metrics.get(name), row.documents) for name in metrics),
                f"{row.prepare_seconds:.2f}" if served else NONE,
                f"{row.seconds:.2f}" if served else NONE,
                f"{row.refused}: {row.reason}" if row.refused else "",
            ]
        )
    kept = [i for i in range(len(head)) if i < 3 or any(line[i] not in ("", NONE) for line in body)]
    return [head[i] for i in kept], [[line[i] for i in kept] for line in body]


def ratio(value: float | None) -> str:
    """A ratio, N:1."""
    return NONE if value is None else f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


def estimate(found: Estimate | None, documents: int = 2) -> str:
    """A metric with its interval; one document alone has none."""
    if found is None:
        return NONE
    digits = 3 if abs(found.value) < 10 else 1
    if documents < 2:
        return f"{found.value:.{digits}f}"
    return f"{found.value:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"


def aligned(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Columns of equal width, the first flush left."""
    widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
    last = len(head) - 1

    def line(cells: Sequence[str]) -> str:
        parts = [
            cell.ljust(width) if i in (0, last) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "  ".join(parts).rstrip()

    return "\n".join([line(head), *map(line, body)])
