"""A trial as one flat record, with the names of the result files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from vtc import metrics
from vtc.measuring import cost
from vtc.measuring.trial import Trial

TIMES = ("encode", "encode_no_verify", "restore")
UNVERIFIED = ("exact_pages", "char_accuracy_mean", "char_accuracy_p5")


def record_of(path: str, trial: Trial, loose: Trial | None, baselines: dict[str, Any]) -> dict[str, Any]:
    """One record: what was asked, sizes and ratios, fidelity, times.

    Args:
        path: the file, for the record.
        trial: the document that is measured.
        loose: the same folding without verification; None if `trial` itself is unverified, or there is no such thing.
        baselines: sizes of the plain text in other forms.
    """
    facts, config = trial.facts, trial.facts["config"]
    tokens, size = facts["text_tokens"], facts["document_bytes"]
    unverified = config.get("verify") is False
    return {
        "file": path,
        **{name: facts[name] for name in ("codec", "density", "width", "dtype", "codebook")},
        **{name: config.get(name) for name in ("alphabet", "prior", "verify")},
        "llm": facts["llm"],
        "tokenizer": facts["llm"],
        "vocabulary_hash": facts["vocabulary_hash"],
        **{name: facts[name] for name in ("text_bytes", "text_tokens", "pages", "latents", "document_bytes")},
        "position_ratio": None,
        "latent_ratio": facts["latent_ratio"],
        "byte_ratio": facts["byte_ratio"],
        "bits_per_token": 8 * size / tokens,
        "latent_bits_per_token": 8 * trial.latent_bytes / tokens,
        "side_bits_per_token": 8 * (size - trial.latent_bytes) / tokens,
        **baselines,
        "exact": all(trial.exact),
        **fidelity_of(trial),
        **unverified_of(loose or (trial if unverified else None)),
        "encode_seconds": None if unverified else trial.encode_seconds,
        "encode_no_verify_seconds": loose.encode_seconds if loose else trial.encode_seconds if unverified else None,
        "restore_seconds": trial.restore_seconds,
        "peak_memory_bytes": cost.peak_memory_bytes(),
    }


def fidelity_of(trial: Trial) -> dict[str, Any]:
    """`vtc.metrics.fidelity` of a trial; exact pages alone, and None elsewhere, where the original is unknown."""
    if trial.originals is None:
        names = metrics.fidelity([""], [""])
        return {**dict.fromkeys(names), "pages": len(trial.exact), "exact_pages": sum(trial.exact)}
    # Bytes that are no UTF-8 become lone surrogates, one each, so that different bytes stay different texts.
    before, after = (texts_of(pages) for pages in (trial.originals, trial.restored))
    found = metrics.fidelity(before, after)
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in found.items()}


def texts_of(pages: Sequence[bytes]) -> list[str]:
    """Pages as text, without loss."""
    return [page.decode("utf-8", "surrogateescape") for page in pages]


def unverified_of(loose: Trial | None) -> dict[str, Any]:
    """What the folding gives when nothing is verified and repaired: the density asked for, and its fidelity."""
    if loose is None:
        return dict.fromkeys(("unverified_latent_ratio", *(f"unverified_{name}" for name in UNVERIFIED)))
    found = fidelity_of(loose)
    return {
        "unverified_latent_ratio": loose.facts["latent_ratio"],
        **{f"unverified_{name}": found[name] for name in UNVERIFIED},
    }


def baselines_of(text: bytes | None, tokens: int, text_bytes: int, vocabulary_size: int) -> dict[str, Any]:
    """Raw token ids and zstd -19 of the same text, in bytes and as byte ratios; the latter None without the text."""
    ids = cost.raw_ids_bytes(tokens, vocabulary_size)
    zstd = None if text is None else cost.zstd_bytes(text)
    return {
        "raw_ids_bytes": ids,
        "raw_ids_byte_ratio": metrics.byte_ratio(text_bytes, ids),
        "zstd19_bytes": zstd,
        "zstd19_byte_ratio": None if zstd is None else metrics.byte_ratio(text_bytes, zstd),
    }


def times_of(record: dict[str, Any], prefill: cost.Prefill | None) -> dict[str, Any]:
    """The prefill's time, and how many times faster than it each step of a record was."""
    found: dict[str, Any] = {
        "prefill_seconds": prefill and prefill.seconds,
        "prefill_sample_tokens": prefill and prefill.sample_tokens,
        "prefill_page_tokens": prefill and prefill.page_tokens,
    }
    for name in TIMES:
        seconds = record[f"{name}_seconds"]
        found[f"{name}_vs_prefill"] = prefill.seconds / seconds if prefill and seconds else None
    return found
