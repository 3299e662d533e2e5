"""What a measurement is set beside: the frozen LLM's prefill, raw token ids, zstd; and the machine it ran on."""

from __future__ import annotations

import os
import platform
import sys
import time
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Protocol

import numpy as np
import zstandard

PAGE_TOKENS = 1024
"""Tokens prefilled at a time. Attention is quadratic, so shorter stretches favour the LLM in the comparison."""
ZSTD_LEVEL = 19


class Prefills(Protocol):
    """A frozen LLM as far as the clock asks."""

    window: int

    def prefill(self, ids: np.ndarray) -> Any:
        """Read ids and build the key/value cache."""
        ...


@dataclass(frozen=True)
class Prefill:
    """Time of the LLM's own reading of a text."""

    seconds: float
    """For the whole text, scaled up from the sample by tokens."""
    sample_tokens: int
    """Tokens that were read on the clock."""
    page_tokens: int
    """Tokens read at a time."""


def time_prefill(llm: Prefills, ids: np.ndarray, sample_pages: int = 8, seed: int = 0) -> Prefill:
    """Prefill a text in pages of 1,024 tokens: all of them, or a random sample of `sample_pages`, scaled up by tokens.

    Args:
        llm: the frozen LLM; it reads one page off the clock first.
        ids: int [n] tokens of the text, n >= 1.
        sample_pages: most pages to read, at least 1.
        seed: of the sample.
    """
    size = min(PAGE_TOKENS, llm.window)
    pages = [ids[start : start + size] for start in range(0, len(ids), size)]
    chosen = np.arange(len(pages))
    if len(pages) > sample_pages:
        full = len(ids) // size  # a short last page would be cheaper by the token
        chosen = np.sort(np.random.default_rng(seed).choice(full, sample_pages, replace=False))
    llm.prefill(pages[chosen[0]])
    start = time.perf_counter()
    for index in chosen:
        llm.prefill(pages[index])
    seconds = time.perf_counter() - start
    tokens = sum(len(pages[index]) for index in chosen)
    return Prefill(seconds * len(ids) / tokens, tokens, size)


def raw_ids_bytes(tokens: int, vocabulary_size: int) -> int:
    """Bytes of the bare token ids: 2 each where the vocabulary fits, else 4."""
    return tokens * (2 if vocabulary_size <= 1 << 16 else 4)


def zstd_bytes(text: bytes) -> int:
    """Bytes of the text under zstd at level 19, one frame."""
    return len(zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(text))


def peak_memory_bytes() -> int | None:
    """Largest resident size of this process so far; None where the system does not say."""
    try:
        import resource  # POSIX only
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # Linux counts in KiB


def machine() -> dict[str, Any]:
    """Processor, cores, threads and versions, flat and JSON-able."""
    import torch

    return {
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "processor": processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("vtc-llm", "torch", "transformers", "tokenizers", "numpy")},
    }


def processor() -> str:
    """The processor's name as Linux tells it, else as Python does."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            names = [line.partition(":")[2].strip() for line in stream if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def version(distribution: str) -> str | None:
    """Version of an installed distribution."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
