"""A reader of vtc, or a baseline with the same interface, as a system."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, fields
from typing import Any

from eval.registry import ALL_READERS
from eval.schema import Item, Outcome, Probe, Result
from eval.systems.base import System
from eval.systems.framing import framed
from vtc.llm.frozen import FrozenLM
from vtc.readers.base import Context, Reader
from vtc.readers.source import plain
from vtc.records.errors import UsageError, VtcError
from vtc.records.registry import lookup
from vtc.records.suggest import unknown


def build_reader(name: str, llm: FrozenLM, options: dict[str, Any]) -> Reader:
    """The reader or baseline of that name.

    Raises:
        UsageError: an unknown name or option, or a value of another kind than the option's default.
    """
    kind = lookup(ALL_READERS, name, "reader")
    known = {item.name: item for item in fields(kind) if item.init and item.name != "llm"}
    for option, value in options.items():
        if option not in known:
            raise UsageError(unknown(f"option of reader {name!r}", option, known))
        default, given = known[option].default, type(value).__name__
        wanted = str(known[option].type) if default is None else type(default).__name__  # "int | None" stands as text
        if given not in wanted.split(" | ") and (wanted, given) != ("float", "int"):
            raise UsageError(f"{option}={value}: reader {name!r} wants {wanted}")
    reader: Reader = kind(llm, **options)
    return reader


@dataclass
class ReaderSystem(System):
    """Prepares the reader with the item's text, then serves its probes."""

    _reader: Reader = field(init=False)

    def __post_init__(self) -> None:
        self._reader = build_reader(self.name, self.bench.llm, self.options)

    def run(self, item: Item) -> Result:
        """Read the document once, then every probe on top of it."""
        header, pages = plain(item.text, self.bench.llm)
        start = time.perf_counter()
        try:
            self._reader.prepare(pages, {"text_bytes": header.text_bytes}, item.id)
            self._context(item, item.probes[0])  # readers read when they are first asked
            ready = time.perf_counter()
            outcomes = [self._outcome(item, probe) for probe in item.probes]
        except VtcError as error:  # a window that is too small, found by the reader or only by the LLM
            return Result(refused=str(error), text_tokens=header.text_tokens)
        return Result(outcomes, "", header.text_tokens, prepare_seconds=ready - start)

    def _context(self, item: Item, probe: Probe) -> Context:
        if item.mode == "ask":
            return self._reader.context(probe.prompt, probe.new_tokens)
        return self._reader.continuation()

    def _outcome(self, item: Item, probe: Probe) -> Outcome:
        start = time.perf_counter()
        context = self._context(item, probe)
        ids = framed(self.bench.llm, item, probe, context.prompt)
        text = ""
        nll: tuple[tuple[float, ...], ...] = ()
        if ids.choices:
            found = self.bench.llm.choices_nll(ids.prompt, ids.choices, context.cache)
            nll = tuple(tuple(losses.tolist()) for losses in found)
        else:
            pieces = self.bench.llm.generate(ids.prompt, probe.new_tokens, context.cache)
            text = b"".join(pieces).decode(errors="replace").strip()
        return Outcome(text, nll, context.positions, time.perf_counter() - start)
