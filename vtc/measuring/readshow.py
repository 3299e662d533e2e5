"""Records of readers as an aligned table for people, and what the records share below it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vtc.measuring.recovery import ENOUGH
from vtc.measuring.show import NONE, Shown, aligned, number, percent, text


def recovery(record: dict[str, Any]) -> str:
    """Context recovery, with its interval where there is one."""
    value, low, high = (record[f"context_recovery{end}"] for end in ("", "_low", "_high"))
    if value is None:
        return NONE
    return f"{value:.3f}" if low is None else f"{value:.3f} [{low:.3f}, {high:.3f}]"


def asked(record: dict[str, Any]) -> str:
    """The ratio that was asked for."""
    return NONE if record["ratio"] is None else f"{record['ratio']:g}"


COLUMNS: list[tuple[str, Shown]] = [
    ("file", text("file")),
    ("reader", text("reader")),
    ("ratio", asked),
    ("position_ratio", number("position_ratio", 2)),
    ("context_recovery", recovery),
    ("agreement %", percent("agreement")),
    ("prepare s", number("prepare_seconds", 2)),
    ("prefills", number("prepare_per_prefill", 2)),
    ("first token s", number("first_token_seconds", 3)),
    ("sooner", number("first_token_speedup", 1, "x")),
]


def reading_table(records: Sequence[dict[str, Any]]) -> str:
    """One line per record, and below them what the records share."""
    several = len({record["file"] for record in records}) > 1
    return "\n\n".join((aligned(COLUMNS if several else COLUMNS[1:], records), "\n".join(notes(records))))


def notes(records: Sequence[dict[str, Any]]) -> list[str]:
    """What stands below the table: words, the texts, the machine."""
    last = records[-1]
    out = [
        "position_ratio: tokens : positions that attention sees; context_recovery: 0 without the document, 1 with all "
        "of it, for the text that follows",
        "agreement: places where the most likely token is that of the full text; prefills: preparing, in prefills of "
        "the same document; sooner: the answer's first token, times sooner than by reading the document again",
        "truncate: the control, the last tokens of the document alone",
    ]
    for path in dict.fromkeys(record["file"] for record in records):
        found = next(record for record in records if record["file"] == path)
        out.append(
            f"{path}: {found['text_tokens']} tokens of {found['tokenizer']}; {found['stretches']} "
            f"{'stretch' if found['stretches'] == 1 else 'stretches'} of {found['document_tokens']} and the "
            f"{found['next_tokens']} that follow (seed {found['seed']}); {found['nll_none']:.2f} nats a token without "
            f"the document, {found['nll_full']:.2f} with all of it, prefill {found['prefill_seconds']:.2f} s, reading "
            f"again {found['reread_first_token_seconds']:.2f} s"
        )
        if found["nll_none"] <= found["nll_full"]:
            out.append("  the documents do not help with what follows, so there is nothing to recover")
    if last["stretches"] < ENOUGH:
        out.append(f"no interval: it takes {ENOUGH} stretches of a file, from a longer file or by --stretches")
    peak = last["peak_memory_bytes"]
    memory = "" if peak is None else f", peak memory {peak / 2**20:.0f} MiB with the LLM"
    threads = f"{last['threads']} threads of torch {last['torch']}"
    out.append(f"{last['processor']}, {threads}, {last['llm']}, vtc {last['vtc-llm']}{memory}")
    return out
