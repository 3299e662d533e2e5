"""Files times settings -> one record each."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import product, repeat
from pathlib import Path
from typing import Any

import numpy as np

from vtc import api
from vtc.codecs.base import Codec
from vtc.document import is_document
from vtc.document.paging import PAGE_SYMBOLS
from vtc.measuring import cost
from vtc.measuring.record import baselines_of, record_of, times_of
from vtc.measuring.trial import Parts, fold, unfold
from vtc.records.errors import UsageError
from vtc.records.progress import bar
from vtc.records.streams import open_source

WARM_UP = 4096
"""Bytes that are compressed and restored before the clock runs."""


@dataclass
class Measured:
    """One file so far: its records, and what the LLM is to prefill at the end."""

    llm: str
    ids: np.ndarray
    """int32 [tokens]"""
    records: list[dict[str, Any]]


def measure(
    files: Sequence[str | os.PathLike[str]],
    *,
    codec: str = api.DEFAULT_CODEC,
    grid: Mapping[str, Sequence[Any]] | None = None,
    llm: str | None = None,
    artifacts: str | os.PathLike[str] | None = None,
    page_symbols: int = PAGE_SYMBOLS,
    with_llm: bool = True,
    prefill_pages: int = 8,
    seed: int = 0,
    progress: bool = False,
) -> list[dict[str, Any]]:
    """Compress and restore every file with every setting, and say what that gave and cost.

    A codec that verifies is measured twice: the document as it is made (repaired, and so exact at the ratio that was
    reached), and the same folding without verification (`unverified_..`: the density asked for, and its fidelity). A
    `.vtc` file is measured as it is; where a page of it does not come back nobody knows the original, and accuracies
    are None.

    Args:
        files: texts, or documents made by `vtc compress`.
        codec: name in `vtc.records.registry.CODECS`, for the texts.
        grid: options of that codec, each with the values to try; all combinations are measured.
        llm: the frozen LLM whose tokens are the symbols and whose prefill is timed; default: the default LLM, for a
            document the one that it names.
        artifacts: folder of glyph tables and priors, else the user's cache.
        page_symbols: symbols of a page.
        with_llm: time the prefill, with which the other times are compared.
        prefill_pages: most pages of 1,024 tokens to prefill per file; the time is scaled up to the whole text.
        seed: picks those pages. Nothing else is random.
        progress: show bars on a terminal's standard error.

    Returns:
        Flat JSON-able records. Ratios are N:1. Bits per token count the whole document: `latent_bits_per_token` and
        `side_bits_per_token` (all but the latents) add up to `bits_per_token`. `X_vs_prefill` says how many times
        faster than the prefill X was. `position_ratio` is None: no reader takes part. `peak_memory_bytes` is the
        process's so far, before the LLM is loaded.

    Raises:
        UsageError: an unknown codec, option or value, an empty file, or no file.
        VtcError: a file cannot be read, is damaged, or an artefact is missing.
    """
    if not files:
        raise UsageError("nothing to measure; name a file")
    if prefill_pages < 1:
        raise UsageError(f"--prefill-pages {prefill_pages}: choose 1 or more")
    # Whatever can be wrong is met before the work begins.
    documents = {str(path): is_document(path) for path in files}
    texts = {path: text_of(path) for path, document in documents.items() if not document}
    if with_llm:
        check_llm(llm or api.DEFAULT_LLM)
    with api.artifacts_at(artifacts):
        measured = run_all(documents, texts, codec, combinations(grid or {}), llm, page_symbols, progress)
    times = prefills(measured, prefill_pages, seed) if with_llm else repeat(None, len(measured))
    for file, prefill in zip(measured, times, strict=True):
        for record in file.records:
            record.update(times_of(record, prefill), seed=seed, **cost.machine())
    return [record for file in measured for record in file.records]


def run_all(
    documents: Mapping[str, bool],
    texts: Mapping[str, bytes],
    codec: str,
    options: Sequence[dict[str, Any]],
    llm: str | None,
    page_symbols: int,
    progress: bool,
) -> list[Measured]:
    """Every file once: a text with every choice of options, a document as it is."""
    spec = llm or api.DEFAULT_LLM
    parts = Parts(*api.load_parts(spec), page_symbols) if texts else None
    coders = [api.build_codec(codec, parts.table, chosen) for chosen in options] if parts else []
    measured = []
    total = len(texts) * len(coders) + len(documents) - len(texts)
    meter = bar(None, progress, total=total, unit="setting")
    with meter or nullcontext():
        for path in documents:
            if parts and path in texts:
                measured.append(measure_text(path, texts[path], codec, coders, parts, spec, meter))
            else:
                measured.append(measure_document(path, llm, meter))
    return measured


def combinations(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every choice of one value per option."""
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def measure_text(
    path: str, text: bytes, codec: str, coders: Sequence[Codec], parts: Parts, spec: str, meter: Any
) -> Measured:
    """Fold a text with every codec, and without verification too where it has that."""
    records: list[dict[str, Any]] = []
    beside: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="vtc-measure-") as folder:
        target = Path(folder) / "trial.vtc"
        trial = fold(text[:WARM_UP], target, codec, coders[0], parts)  # off the clock, as the LLM's first page
        for coder in coders:
            trial, loose = fold(text, target, codec, coder, parts), None
            if coder.config().get("verify"):
                options = {**coder.config(), "verify": False}
                loose = fold(text, target, codec, api.build_codec(codec, parts.table, options), parts)
            tokens = trial.facts["text_tokens"]
            beside = beside or baselines_of(text, tokens, len(text), parts.vocabulary.size)
            records.append(record_of(path, trial, loose, beside))
            tick(meter)
    return Measured(spec, trial.ids, records)


def measure_document(path: str, llm: str | None, meter: Any) -> Measured:
    """Restore a document as it is."""
    with api.opened(path, check=False) as (document, coder, table):
        facts = document.header
        if not len(document):
            raise UsageError(f"{path}: is the document of an empty text, there is nothing to measure; name another")
        trial = unfold(document, coder, table)
    text = None if trial.originals is None else b"".join(trial.originals)
    tick(meter)
    beside = baselines_of(text, facts.text_tokens, facts.text_bytes, len(table.features))
    return Measured(llm or facts.llm, trial.ids, [record_of(path, trial, None, beside)])


def prefills(measured: Sequence[Measured], pages: int, seed: int) -> Iterator[cost.Prefill]:
    """Time of the LLM's prefill of each file, one after the other; each LLM is loaded once."""
    models: dict[str, Any] = {}
    for file in measured:
        if file.llm not in models:
            models[file.llm] = api.load_llm(file.llm)
        yield cost.time_prefill(models[file.llm], file.ids, pages, seed)


def tick(meter: Any) -> None:
    """Move a progress bar on, if there is one."""
    if meter is not None:
        meter.update()


def text_of(path: str) -> bytes:
    """Content of a file that is not empty."""
    with open_source(path) as stream:
        text = stream.read()
    if not text:
        raise UsageError(f"{path}: is empty, there is nothing to measure; name a file that holds text")
    return text


def check_llm(spec: str) -> None:
    """Raise if the LLM is not here and cannot be fetched."""
    from vtc.llm.sources import locate

    locate(spec)
