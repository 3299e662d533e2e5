"""A codec of vtc as a system: the item's text becomes a whole document in memory and comes back from it."""

from __future__ import annotations

import io
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from eval.schema import Item, Outcome, Result
from eval.systems.base import System
from vtc.api import build_codec, new_header, write_pages
from vtc.codecs.base import Codec
from vtc.document import Document, write_document


@dataclass
class CodecSystem(System):
    """Writes and reads `.vtc` documents, so that every byte of side information is counted.

    What a codec restores is taken as it comes, exact or not; with `verify=false` that is the decoder's first attempt.
    """

    _codec: Codec = field(init=False)

    def __post_init__(self) -> None:
        self._codec = build_codec(self.name, self.bench.table, self.options)

    def run(self, item: Item) -> Result:
        """Compress and restore the text."""
        with tempfile.TemporaryDirectory(prefix="vtc-eval-") as folder:
            path = Path(folder) / "item.vtc"
            start = time.perf_counter()
            header = new_header(self.name, self._codec, self.bench.vocabulary, self.bench.table)
            with write_document(path, header) as writer:
                write_pages(writer, io.BytesIO(item.text), self.bench.vocabulary, self._codec)
            encoded = time.perf_counter()
            with Document(path) as document:
                text = b"".join(page.text for page in document.restore(self._codec, self.bench.table))
                tokens, latents, size = document.header.text_tokens, document.header.latents, document.size_bytes
        outcome = Outcome(text.decode("utf-8", "surrogateescape"), seconds=time.perf_counter() - encoded)
        return Result([outcome], "", tokens, latents, size, encoded - start)
