"""DeepSeek-OCR (Wei et al. 2025, arXiv 2510.18234) as a system: the outputs that were published for a page.

Nothing is repaired in them. They come with the evaluation texts (`eval.data`); the model itself is not run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

from eval.published import positions
from eval.schema import Item, Outcome, Result
from eval.systems.base import System
from vtc.records.config import load_config

Condition = Literal["clean_64", "clean_100", "clean_256", "scan_64", "scan_100", "scan_256", "random_64", "random_100"]


@dataclass
class Settings:
    """Options of the system."""

    condition: Condition = "clean_64"
    """`clean`: Fox pages rendered anew; `scan`: their original scans; `random`: random letters. Then latents a page."""


@dataclass
class DeepSeek(System):
    """Serves what was published, and refuses every other text."""

    conditions: ClassVar[tuple[str, ...]] = get_args(Condition)
    _condition: str = field(init=False)

    def __post_init__(self) -> None:
        self._condition = load_config(Settings, overrides=[f"{k}={v}" for k, v in self.options.items()]).condition

    def run(self, item: Item) -> Result:
        """The stored output; tokens are those of DeepSeek-OCR's own tokenizer, positions those of its decoder."""
        if self._condition not in item.stored:
            return Result(refused=f"DeepSeek-OCR published no output for this text under {self._condition}")
        latents = int(self._condition.rpartition("_")[2])
        outcome = Outcome(item.stored[self._condition], positions=float(positions(latents)))
        return Result([outcome], text_tokens=int(item.stored["tokens_deepseek"]), latents=latents)
