"""vtc: texts as few latents of glyph images, restored exactly or read by a frozen language model.

    import vtc
    doc = vtc.compress("report.txt", reader="kv", ratio=8)
    print(doc.ask("Who signed it?")["answer"])

Nothing is imported before it is used, so that `import vtc` and the command line start at once; see `vtc.compressed`,
and `vtc.api` for functions over files and streams.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vtc.compressed import Compressed, compress
    from vtc.compressed import open_compressed as open

__all__ = ["Compressed", "compress", "open"]

_NAMES = {"Compressed": "Compressed", "compress": "compress", "open": "open_compressed"}
"""What this package offers -> its name in `vtc.compressed`."""


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'vtc' has no attribute {name!r}")
    from vtc import compressed

    return getattr(compressed, _NAMES[name])


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
