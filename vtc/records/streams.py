"""Where bytes come from and go to: paths, byte strings and streams, with errors that name the file at fault."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from vtc.records.artefact import atomic_write, explain
from vtc.records.errors import UsageError, VtcError
from vtc.records.progress import bar

Source = str | os.PathLike[str] | bytes | IO[bytes]
Target = str | os.PathLike[str] | IO[bytes]


class Reader:
    """A binary source whose read errors name it, and not the file being written meanwhile."""

    def __init__(self, stream: IO[bytes], name: str, progress: bool = False) -> None:
        self._stream, self._name = stream, name
        self._bar = bar(None, progress, total=_size(stream), unit="B", unit_scale=True)

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes, b"" at the end.

        Raises:
            VtcError: the source cannot be read.
        """
        try:
            data = self._stream.read(size)
        except OSError as error:
            raise VtcError(explain(error, self._name)) from error
        if self._bar is not None:
            self._bar.update(len(data))
        return data

    def close(self) -> None:
        """End the progress bar; the stream is its owner's."""
        if self._bar is not None:
            self._bar.close()


@contextmanager
def open_source(source: Source, progress: bool = False) -> Iterator[Reader]:
    """A binary source for sequential reading.

    Raises:
        VtcError: it cannot be opened.
    """
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        try:
            stream: IO[bytes] = open(name, "rb")  # noqa: SIM115  only the opening is guarded here
        except OSError as error:
            raise VtcError(explain(error, name)) from error
    else:
        stream = io.BytesIO(source) if isinstance(source, bytes) else source
        name = "the input"
    reader = Reader(stream, name, progress)
    try:
        yield reader
    finally:
        reader.close()
        if stream is not source:
            stream.close()


@contextmanager
def open_target(out: Target) -> Iterator[IO[bytes]]:
    """A binary stream to write to; a regular file appears, or is replaced, only if the block succeeds.

    Raises:
        VtcError: the place cannot be written.
    """
    if not isinstance(out, (str, os.PathLike)):
        yield out
        return
    path = Path(out)
    if path.is_dir():
        raise VtcError(f"{path}: is a directory; name a file")
    if path.exists() and not path.is_file():  # replacing /dev/null or a named pipe would destroy it
        try:
            with open(path, "wb") as stream:
                yield stream
        except OSError as error:
            raise VtcError(explain(error, path)) from error
        return
    with atomic_write(Path(os.path.realpath(path)) if path.is_symlink() else path) as stream:
        yield stream


def refuse_same_file(source: object, out: object) -> None:
    """Refuse to write over the file that is being read.

    Raises:
        UsageError: both name one file.
    """
    paths = [Path(item) for item in (source, out) if isinstance(item, (str, os.PathLike))]
    if len(paths) == 2 and all(path.is_file() for path in paths) and os.path.samefile(*paths):
        raise UsageError(f"{paths[1]}: is the input itself; choose another name for the output")


def _size(stream: IO[bytes]) -> int | None:
    try:
        return os.fstat(stream.fileno()).st_size or None
    except (OSError, AttributeError):
        return None
