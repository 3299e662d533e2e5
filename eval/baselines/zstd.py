"""Plain compressed text: zstd (RFC 8878), whole, or only as much of the text as a budget of bytes holds."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import zstandard

from eval.baselines.tokens import count_tokens
from eval.schema import Item, Outcome, Result
from eval.systems.base import System
from vtc.records.config import load_config
from vtc.records.errors import UsageError


@dataclass
class Settings:
    """Options of the system."""

    level: int = 19
    """From 1, fast, to 22."""
    ratio: float | None = None
    """Bytes of the text for each byte that may be stored; what does not fit is lost. None keeps everything."""

    def __post_init__(self) -> None:
        if not 1 <= self.level <= zstandard.MAX_COMPRESSION_LEVEL:
            raise UsageError(f"level={self.level}: must be 1 to {zstandard.MAX_COMPRESSION_LEVEL}")
        if self.ratio is not None and not self.ratio >= 1:
            raise UsageError(f"ratio={self.ratio}: must be at least 1")


@dataclass
class Zstd(System):
    """One frame a text, no dictionary. It has no latents: nothing but the restored text can be read."""

    _settings: Settings = field(init=False)

    def __post_init__(self) -> None:
        self._settings = load_config(Settings, overrides=[f"{k}={v}" for k, v in self.options.items()])

    def run(self, item: Item) -> Result:
        """Compress and restore."""
        tokens = count_tokens(item.text, self.bench.vocabulary)
        compressor = zstandard.ZstdCompressor(level=self._settings.level)
        start = time.perf_counter()
        ratio = self._settings.ratio
        frame = compressor.compress(item.text) if ratio is None else longest(item.text, ratio, compressor)
        encoded = time.perf_counter()
        text = zstandard.ZstdDecompressor().decompress(frame) if frame else b""
        outcome = Outcome(text.decode("utf-8", "surrogateescape"), seconds=time.perf_counter() - encoded)
        return Result([outcome], "", tokens, None, len(frame), encoded - start)


def longest(text: bytes, ratio: float, compressor: zstandard.ZstdCompressor) -> bytes:
    """The frame of the longest prefix, in bytes, that takes at most len(text) / ratio of them; b"" if none fits.

    By bisection, for a frame grows with its text but for a few bytes now and then.
    """
    budget = len(text) / ratio
    fits, best, exceeds = 0, b"", len(text) + 1
    while exceeds - fits > 1:
        middle = (fits + exceeds) // 2
        frame = compressor.compress(text[:middle])
        if len(frame) <= budget:
            fits, best = middle, frame
        else:
            exceeds = middle
    return best
