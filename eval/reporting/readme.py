"""The tables of the README and of other Markdown files, made from the result files.

Every stretch between `<!-- table: NAME -->` and `<!-- /table -->` is replaced; NAME is one of `TABLES`, or
`run PATTERN` for the CSV of a run (`eval.reporting.runtable`). Numbers come from eval/results/ alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from eval.csvfile import RESULTS, read_rows
from eval.reporting.runtable import parse_marker, run_note, run_table
from vtc.records.errors import VtcError

Rows = list[dict[str, str]]


def results(pattern: str) -> tuple[Rows, str]:
    """Rows of the one result file that matches, and its name.

    Raises:
        VtcError: none or several match.
    """
    found = sorted(RESULTS.glob(pattern))
    if not found:
        raise VtcError(f"{RESULTS}: no file matches {pattern}; make it with: make results")
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise VtcError(f"{RESULTS}: {names} all match {pattern}; remove what is out of date, or name one")
    return read_rows(found[0]), found[0].name


def markdown(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(cells) + " |" for cells in [header, ["---"] * len(header), *body]]
    return "\n".join(lines)


def number(cell: str, digits: int = 1, scale: float = 1.0) -> str:
    """A cell of a result file for people; a missing value is a dash."""
    return f"{float(cell) * scale:,.{digits}f}" if cell else "–"


def density_table() -> str:
    """Largest exact density by width and storage."""
    rows, name = results("density_*.csv")
    widths = sorted({int(row["width"]) for row in rows})
    lines: dict[tuple[str, str, str], dict[int, str]] = {}
    for row in rows:
        key = (row["alphabet"], row["prior"], row["storage"])
        shown = f"{row['largest_exact_density']} ({number(row['latent_bits_per_token'], 0)})"
        lines.setdefault(key, {})[int(row["width"])] = shown
    body = [[*key, *(cells.get(width, "") for width in widths)] for key, cells in lines.items()]
    header = ["alphabet", "prior", "storage", *(f"width {width}" for width in widths)]
    note = (
        "In brackets: bits of latent per token; the page's alphabet and histogram add about 3. Fox pages, "
        f"{rows[0]['tiles']} tiles that all came back at the first attempt, tokenizer {rows[0]['tokenizer']}, nothing "
        f"is sampled; [`{name}`](eval/results/{name}), plot beside it (`python -m eval.density`)."
    )
    return markdown(header, body) + "\n\n" + note


SETS = (
    ("deepseek-ocr_fox-en-*_cleanrender.csv", "Fox"),
    ("vtc-hard_fox-en-*.csv", "Fox"),
    ("deepseek-ocr_random-letters-*.csv", "random letters"),
    ("vtc-hard_random-letters-*.csv", "random letters"),
    ("vtc-hard_random-han-*.csv", "random Han"),
    ("vtc-hard_random-hex-*.csv", "random hex"),
)


def reconstruct_table() -> str:
    """The hard codec and DeepSeek-OCR on the same pages, then the data sets without a language."""
    header = [
        "data",
        "system",
        "latents per page",
        "`latent_ratio`",
        "bits per token",
        "`byte_ratio`",
        "char accuracy raw",
    ]
    header += ["normalised", "exact pages raw, normalised", "digit words", "identifiers", "alphabetic words"]
    body = [[data, *reconstruct_cells(row)] for pattern, data in SETS for row in results(pattern)[0]]
    note = (
        "The two do not do the same: DeepSeek-OCR recognises an image of a page, vtc is given its tokens, and nothing "
        "has to be recognised. vtc: width 1280; accuracies and exact pages are those of the decoder's first attempt "
        "(`verify=False`); latents, ratios and bits are those of the verified document, exact on every page. Alphabet "
        "and prior stand before the storage. Tokens are those of each system's own tokenizer, SmolLM2 for vtc. Nothing "
        "is sampled. `position_ratio` belongs to a reader, and nothing is read here (`python -m eval.published`, "
        "`python -m eval.reconstruct`)."
    )
    return markdown(header, body) + "\n\n" + note


def reconstruct_cells(row: dict[str, str]) -> list[str]:
    """One line of the table, without its data set."""
    system = row["system"]
    if "storage" in row:
        system += f", {row['alphabet']} / {row['prior']}, {row['storage']}, density {row['density_asked']}"
    return [
        system,
        number(row["latents_per_page"]),
        number(row["latent_ratio"]),
        number(row.get("bits_per_token", "")),
        number(row.get("byte_ratio", ""), 2),
        number(row["char_accuracy_mean"], 2, 100),
        number(row["char_accuracy_normalised_mean"], 2, 100),
        f"{row['exact_pages']}, {row['exact_pages_normalised']} of {row['pages']}",
        *(number(row[f"{kind}_recall"], 1, 100) for kind in ("digit_word", "identifier", "alphabetic_word")),
    ]


def speed_table() -> str:
    """Restore, fold and encode relative to the prefill."""
    rows, name = results("speed_*.csv")
    header = [
        "alphabet",
        "storage",
        "density",
        "`latent_ratio`",
        "bits per token",
        "restore",
        "fold",
        "encode, verified",
    ]
    body = [
        [
            row["alphabet"],
            row["storage"],
            row["density_asked"],
            number(row["latent_ratio"]),
            number(row["bits_per_token"]),
            *(number(row[f"{part}_times_prefill"]) + "x" for part in ("restore", "fold", "encode")),
        ]
        for row in rows
    ]
    first = rows[0]
    note = (
        f"Times as fast as {first['model']} in float32 prefills the same {int(first['n_tokens']):,} tokens "
        f"({number(first['prefill_tokens_per_second'], 0)} tokens/s on that machine), {first['threads']} threads, "
        f"median of {first['rounds']} rounds in turn; [`{name}`](eval/results/{name}) (`python -m eval.speed`)."
    )
    return markdown(header, body) + "\n\n" + note


def latency_table() -> str:
    """Time to an answer's first token."""
    rows, name = results("latency_*.csv")
    header = ["tokens", "`position_ratio`", "stored, MB", "reading again, s", "latents in memory", "loaded from disk"]
    header += ["compressing once"]
    body = [
        [
            number(row["document_tokens"], 0),
            number(row["position_ratio"], 2),
            number(row["stored_bytes"], 1, 1e-6),
            number(row["reread_seconds"], 2),
            f"{number(row['memory_seconds'], 2)} s, {number(row['memory_times_sooner'])}x sooner",
            f"{number(row['disk_seconds'], 2)} s, {number(row['disk_times_sooner'])}x sooner",
            f"{number(row['compress_per_reread'])} readings",
        ]
        for row in rows
    ]
    first = rows[0]
    note = (
        f"Seconds from a question of {first['question_tokens']} tokens to the answer's first; {first['model']} in "
        f"{first['dtype']} on {first['threads']} threads, latents {first['latents']}, median of {first['rounds']} "
        f"rounds in turn. Loading from disk includes comparing the model's weights with those that made the latents, "
        f"{number(first['fingerprint_seconds'], 2)} s; [`{name}`](eval/results/{name}) (`python -m eval.latency`)."
    )
    return markdown(header, body) + "\n\n" + note


TABLES: dict[str, Callable[[], str]] = {
    "density": density_table,
    "deepseek": reconstruct_table,
    "speed": speed_table,
    "latency": latency_table,
}


MARKER = re.compile(r"<!-- table: (.+?) -->\n.*?<!-- /table -->", re.DOTALL)


def fill(text: str, root: str = ".") -> str:
    """The text with every marked table made anew.

    Args:
        root: the repository's root as links of the text name it, such as `..`.

    Raises:
        VtcError: a marker names a table that nothing makes, or a file that is missing.
    """

    def made(match: re.Match[str]) -> str:
        found = table(match[1])
        if root != ".":
            found = found.replace("](eval/results/", f"]({root}/eval/results/")
        return f"<!-- table: {match[1]} -->\n\n{found}\n\n<!-- /table -->"

    return MARKER.sub(made, text)


def table(marker: str) -> str:
    """Markdown of what a marker asks for.

    Raises:
        VtcError: as `fill`.
    """
    name, _, rest = marker.partition(" ")
    if name == "run":
        pattern, options = parse_marker(rest)
        rows, file = results(pattern)
        header, body = run_table(rows, file, options)
        return markdown(header, body) + "\n\n" + run_note(rows, file)
    if marker not in TABLES:
        raise VtcError(f"no table is called {marker!r}; use one of {', '.join(TABLES)}, run FILE")
    return TABLES[marker]()
