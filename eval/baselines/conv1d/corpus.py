"""What the autoencoder learns from: texts that every CPython ships, and none that the task `reconstruct` asks for."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from pydoc_data import topics

from eval.tasks.reconstruct.documents import PYTHON_MODULES, source_of
from vtc.records.artefact import explain
from vtc.records.errors import VtcError


def sources() -> list[Path]:
    """Modules at the top of CPython's library, without those that are evaluation texts, in name order."""
    held_out = {source_of(name).resolve() for name in PYTHON_MODULES}
    found = Path(sysconfig.get_paths()["stdlib"]).glob("*.py")
    return sorted(path for path in found if path.resolve() not in held_out)


def corpus() -> bytes:
    """About 5 MB: the topics of `pydoc`, then the source of the modules.

    Raises:
        VtcError: a file can not be read.
    """
    parts = [text.encode() for _, text in sorted(topics.topics.items())]
    for path in sources():
        try:
            parts.append(path.read_bytes())
        except OSError as error:
            raise VtcError(explain(error, path)) from error
    return b"\n".join(parts)
