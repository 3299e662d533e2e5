"""Tesseract as a system: it reads the page images that vtc draws, as any user of `vtc pages` could let it."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from eval.peers.adapter import Worker
from eval.schema import Item, Outcome, Result
from eval.systems.base import System
from vtc import imaging
from vtc.document.paging import PAGE_SYMBOLS
from vtc.glyphs.pages import MARGIN
from vtc.records.errors import UsageError


@dataclass
class Tesseract(System):
    """Draws the item's pages and lets Tesseract recognise them. There are no latents: pixels are what it reads."""

    _worker: Worker = field(init=False)

    def __post_init__(self) -> None:
        if self.options:
            raise UsageError(f"{self.name}: takes no options")
        self._worker = Worker("tesseract", "tesseract_worker.py")

    def run(self, item: Item) -> Result:
        """Draw, recognise; the images' bytes are what is stored."""
        tokens = len(self.bench.vocabulary.encode(item.text.decode(errors="replace")))
        with tempfile.TemporaryDirectory(prefix="vtc-eval-") as folder:
            drawn = imaging.write(item.text, folder, llm=self.bench.llm_name)
            images = sorted(map(str, Path(folder).glob("*.png")))
            answer = self._worker.ask({"id": item.id, "images": images, "top": self._band(images[0], drawn)})
        if "error" in answer:
            return Result(refused=answer["error"], text_tokens=tokens)
        outcome = Outcome(answer["text"], seconds=float(answer["seconds"]))
        return Result([outcome], "", tokens, stored_bytes=drawn["image_bytes"])

    def _band(self, image: str, drawn: dict[str, Any]) -> int:
        """Height of what stands above the cells of the first page, px: a row of marks that is no text."""
        with Image.open(image) as page:
            height = page.height
        rows = -(-min(drawn["symbols"], PAGE_SYMBOLS) // drawn["columns"])
        return int(height - MARGIN - rows * self.bench.table.cell[0])

    def close(self) -> None:
        """End the worker."""
        self._worker.close()
