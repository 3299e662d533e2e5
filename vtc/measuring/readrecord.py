"""What a reader did on the stretches of a file as one flat record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

import numpy as np

from vtc import metrics
from vtc.measuring import cost
from vtc.measuring.foresight import Reference, Trial
from vtc.measuring.recovery import context_recovery, recovery_interval
from vtc.measuring.stretches import Stretch
from vtc.readers.base import Reader


def record_of(
    about: Mapping[str, Any],
    reader: Reader,
    parts: Sequence[Stretch],
    trials: Sequence[Trial],
    references: Sequence[Reference],
    seed: int,
) -> dict[str, Any]:
    """One record: what was asked, ratios, what was kept, times.

    `ratio` is what was asked for, `position_ratio` what came out. `nll`, `nll_none` and `nll_full` are nats a token of
    what is held out. `agreement` is the share of places where the most likely token is the one that the full text
    gives. Seconds are means over stretches; `prepare_per_prefill` says how many prefills of the same document preparing
    took, `first_token_speedup` how many times sooner the answer begins than by reading the document again.

    Args:
        about: `file`, `text_bytes` and `text_tokens`.
        seed: of the interval.
    """
    none, own, full = (
        np.array([found.losses.sum() for found in column], np.float64)
        for column in (
            [reference.none for reference in references],
            [found.foresight for found in trials],
            [reference.full for reference in references],
        )
    )
    scored = sum(len(part.held_out) - 1 for part in parts)
    same = sum(
        int((found.foresight.greedy == reference.full.greedy).sum())
        for found, reference in zip(trials, references, strict=True)
    )
    tokens = sum(len(part.document) for part in parts)
    low, high = recovery_interval(none, own, full, seed)
    prepare, prefill = (mean(x) for x in ([t.prepare_seconds for t in trials], [r.prefill_seconds for r in references]))
    first, again = (mean(each.first_token_seconds for each in column) for column in (trials, references))
    return {
        **about,
        "reader": reader.name,
        "ratio": getattr(reader, "ratio", None),
        "llm": reader.llm.name,
        "tokenizer": reader.llm.vocabulary.name,
        "vocabulary_hash": reader.llm.vocabulary.hash,
        "stretches": len(parts),
        "document_tokens": len(parts[0].document),
        "next_tokens": len(parts[0].held_out) - 1,
        "positions": mean(found.positions for found in trials),
        "position_ratio": metrics.position_ratio(tokens, sum(found.positions for found in trials)),
        "latent_ratio": None,
        "byte_ratio": None,
        "context_recovery": context_recovery(none, own, full),
        "context_recovery_low": low,
        "context_recovery_high": high,
        "nll": float(own.sum()) / scored,
        "nll_none": float(none.sum()) / scored,
        "nll_full": float(full.sum()) / scored,
        "agreement": same / scored,
        "prepare_seconds": prepare,
        "prefill_seconds": prefill,
        "prepare_per_prefill": prepare / prefill,
        "first_token_seconds": first,
        "reread_first_token_seconds": again,
        "first_token_speedup": again / first,
        "peak_memory_bytes": cost.peak_memory_bytes(),
    }
