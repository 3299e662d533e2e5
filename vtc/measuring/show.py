"""Records as aligned tables for people: what came back, and what it cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Shown = Callable[[dict[str, Any]], str]
NONE = "-"


def text(name: str) -> Shown:
    """A field as it is."""
    return lambda record: NONE if record[name] is None else str(record[name])


def number(name: str, digits: int, unit: str = "") -> Shown:
    """A field with some decimals."""
    return lambda record: NONE if record[name] is None else f"{record[name]:.{digits}f}{unit}"


def percent(name: str) -> Shown:
    """A fraction in per cent; 100 only where it is exactly 1."""

    def shown(record: dict[str, Any]) -> str:
        value = record[name]
        return NONE if value is None else "100" if value == 1 else f"{min(100 * value, 99.99):.2f}"

    return shown


def of_pages(name: str) -> Shown:
    """n/N."""
    return lambda record: NONE if record[name] is None else f"{record[name]}/{record['pages']}"


SETTINGS: list[tuple[str, Shown]] = [
    (name, text(name)) for name in ("file", "codec", "dtype", "width", "alphabet", "prior", "density")
]
"""Columns that only tell records apart, and are left out where they do not."""

FIDELITY: list[tuple[str, Shown]] = [
    ("latent_ratio", number("latent_ratio", 1)),
    ("byte_ratio", number("byte_ratio", 3)),
    ("bits/token", number("bits_per_token", 1)),
    ("side bits", number("side_bits_per_token", 1)),
    ("exact", of_pages("exact_pages")),
    ("chars %", percent("char_accuracy_mean")),
    ("p5", percent("char_accuracy_p5")),
    ("digits", percent("digit_word_recall")),
    ("names", percent("identifier_recall")),
    ("unverified", of_pages("unverified_exact_pages")),
    ("its chars %", percent("unverified_char_accuracy_mean")),
]

COST: list[tuple[str, Shown]] = [
    ("encode s", number("encode_seconds", 2)),
    ("folding s", number("encode_no_verify_seconds", 2)),
    ("restore s", number("restore_seconds", 2)),
    ("encode", number("encode_vs_prefill", 1, "x")),
    ("folding", number("encode_no_verify_vs_prefill", 1, "x")),
    ("restore", number("restore_vs_prefill", 1, "x")),
]


def table(records: Sequence[dict[str, Any]]) -> str:
    """Both tables, one line per record, and below them what the records share."""
    kept = [(name, shown) for name, shown in SETTINGS if name == "density" or len({shown(r) for r in records}) > 1]
    blocks = (aligned([*kept, *FIDELITY], records), aligned([*kept, *COST], records), "\n".join(notes(records)))
    return "\n\n".join(blocks)


def aligned(columns: Sequence[tuple[str, Shown]], records: Sequence[dict[str, Any]]) -> str:
    """Columns flush right, the file's name flush left; one that is empty throughout is left out."""
    filled = [[name, *(shown(record) for record in records)] for name, shown in columns]
    filled = [cells for cells in filled if set(cells[1:]) != {NONE}]
    padded = []
    for cells in filled:
        width = max(map(len, cells))
        padded.append([cell.ljust(width) if cells[0] == "file" else cell.rjust(width) for cell in cells])
    head, *lines = ("  ".join(row).rstrip() for row in zip(*padded, strict=True))
    return "\n".join([head, "-" * len(head), *lines])


def notes(records: Sequence[dict[str, Any]]) -> list[str]:
    """What stands below a table: words, baselines, how times were taken, the machine."""
    last = records[-1]
    shared = [f"{name} {shown(last)}" for name, shown in SETTINGS[1:-1] if len({shown(r) for r in records}) == 1]
    out = [
        ", ".join(shared),
        "latent_ratio: tokens : latents, nominal; byte_ratio: text : document with all side information; "
        "position_ratio: none, no reader",
        "chars %: 1 - Levenshtein / length, raw, mean and 5th percentile of the pages; digits, names: recall of words "
        "with digits, of identifiers",
    ]
    if any(record["unverified_exact_pages"] is not None for record in records):
        out.append("unverified: the same folding without verification and repair, at the density asked for")
    for path in dict.fromkeys(record["file"] for record in records):
        out += baseline_lines(next(record for record in records if record["file"] == path))
    peak = last["peak_memory_bytes"]
    memory = "" if peak is None else f", peak memory {peak / 2**20:.0f} MiB without the LLM"
    threads = f"{last['threads']} threads of torch {last['torch']}"
    out.append(f"{last['processor']}, {threads}, vtc {last['vtc-llm']}{memory}")
    return out


def baseline_lines(record: dict[str, Any]) -> list[str]:
    """One file's sizes in other forms, and the LLM's time for it."""
    zstd = record["zstd19_bytes"]
    plain = "unknown" if zstd is None else f"{zstd} bytes ({record['zstd19_byte_ratio']:.3f}:1)"
    lines = [
        f"{record['file']}: {record['text_bytes']} bytes, {record['text_tokens']} tokens of {record['tokenizer']}, "
        f"{record['pages']} pages; raw ids {record['raw_ids_bytes']} bytes ({record['raw_ids_byte_ratio']:.3f}:1), "
        f"zstd -19 {plain}"
    ]
    if record["prefill_seconds"] is not None:
        lines.append(
            f"  prefill by {record['llm']}: {record['prefill_seconds']:.1f} s, from {record['prefill_sample_tokens']} "
            f"tokens in pages of {record['prefill_page_tokens']} (seed {record['seed']}); x: times faster than that"
        )
    return lines
