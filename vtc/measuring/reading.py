"""Files times ratios -> one record each, of how much a reader keeps of a text and what that costs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vtc import api
from vtc.document import is_document
from vtc.measuring import cost
from vtc.measuring.foresight import Trial, refer, trial
from vtc.measuring.readrecord import record_of
from vtc.measuring.runs import tick
from vtc.measuring.stretches import SHORTEST, Stretch, cut
from vtc.measuring.truncate import LastTokens
from vtc.readers.base import Reader
from vtc.readers.kv.reader import RESERVE
from vtc.readers.source import plain
from vtc.records.errors import UsageError
from vtc.records.progress import bar
from vtc.records.registry import READERS, lookup
from vtc.records.streams import open_source

if TYPE_CHECKING:
    from vtc.llm.frozen import FrozenLM

RATIOS = (4.0, 8.0, 16.0, 32.0)
TOKENS = 1024
QUESTION = "What is said here, and who says it?"
"""Asked for the clock alone: the time to an answer's first token depends on lengths, not on words."""


@dataclass(frozen=True)
class Text:
    """A file by the tokens of the LLM that reads it."""

    path: str
    bytes: int
    ids: np.ndarray
    """int32 [n]."""
    parts: list[Stretch]


def measure_reader(
    files: Sequence[str | os.PathLike[str]],
    *,
    reader: str,
    ratios: Sequence[float] | None = None,
    llm: str | None = None,
    artifacts: str | os.PathLike[str] | None = None,
    stretches: int = 5,
    tokens: int | None = None,
    next_tokens: int = 64,
    seed: int = 0,
    progress: bool = False,
    model: FrozenLM | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """Let a reader compress stretches of every file at every ratio, and see what it keeps for the text that follows.

    Beside it at each ratio stands the control `truncate`, the last tokens of the same documents.

    Args:
        files: texts, or documents made by `vtc compress`, which are restored.
        reader: name in `vtc.records.registry.READERS`; it must be able to go on with a text, which `expand` is not.
        ratios: values of the reader's option `ratio`; by default 4, 8, 16 and 32, and none for a reader without it.
        llm: the frozen LLM that reads.
        artifacts: folder of glyph tables, for documents.
        stretches: most of a file; they do not overlap.
        tokens: of the document in a stretch, by default 1,024 or what the window leaves; fewer where the file is short.
        next_tokens: held out after it.
        seed: draws the stretches and the resamples. Nothing else is random.
        progress: show a bar on a terminal's standard error.
        model: the LLM, if it is loaded already.
        options: fields of the reader's dataclass beside `ratio`.

    Returns:
        Flat JSON-able records, one per (file, reader, ratio), as `vtc.measuring.readrecord` says.

    Raises:
        UsageError: a reader that needs a question, an unknown name, option or value, a text that is too short, no file.
        VtcError: a file cannot be read, is damaged, or an artefact is missing.
    """
    if not files:
        raise UsageError("nothing to measure; name a file")
    asked = ratios_of(reader, ratios)
    for name, value in (("stretches", stretches), ("tokens", tokens), ("next-tokens", next_tokens)):
        if value is not None and value < 1:
            raise UsageError(f"--{name} {value}: choose 1 or more")
    contents = {str(path): content(path, artifacts) for path in files}
    found = model or api.load_llm(llm or api.DEFAULT_LLM)
    readers = [
        api.build_reader(reader, found, options if ratio is None else {**options, "ratio": ratio}) for ratio in asked
    ]
    rows: list[Reader] = []
    for ratio, made in zip(asked, readers, strict=True):
        rows += [made] if ratio is None else [made, LastTokens(found, ratio)]
    question = readers[0].around(QUESTION)[1]
    size = document_tokens(found, tokens, max(next_tokens + 1, len(question), RESERVE))
    texts = [text_of(path, data, found, stretches, size, next_tokens, seed) for path, data in contents.items()]
    found.prefill(texts[0].parts[0].document)  # off the clock
    meter = bar(None, progress, total=sum(len(text.parts) for text in texts) * (len(rows) + 1), unit="reading")
    with meter or nullcontext():
        records = [record for text in texts for record in measured(text, rows, question, seed, meter)]
    machine = cost.machine()
    return [{**record, "seed": seed, **machine} for record in records]


def measured(text: Text, rows: Sequence[Reader], question: np.ndarray, seed: int, meter: Any) -> list[dict[str, Any]]:
    """One record for each reader; on every stretch all of them in turn, so that a drift of the machine hits all."""
    references = []
    trials: list[list[Trial]] = [[] for _ in rows]
    for part in text.parts:
        references.append(refer(rows[0].llm, part, question))
        tick(meter)
        for found, reader in zip(trials, rows, strict=True):
            found.append(trial(reader, part, question))
            tick(meter)
    about = {"file": text.path, "text_bytes": text.bytes, "text_tokens": len(text.ids)}
    return [
        record_of(about, reader, text.parts, found, references, seed)
        for reader, found in zip(rows, trials, strict=True)
    ]


def ratios_of(reader: str, ratios: Sequence[float] | None) -> list[float | None]:
    """The ratios to try; None stands for a reader that has none.

    Raises:
        UsageError: the reader can not be measured so, or a ratio is not one.
    """
    kind = lookup(READERS, reader, "reader")
    if kind.continuation is Reader.continuation:
        able = [name for name in READERS if lookup(READERS, name).continuation is not Reader.continuation]
        raise UsageError(
            f"--reader {reader}: picks what it reads by a question, and a text that goes on asks none; measure "
            f"{' or '.join(able)}, or ask questions of your own: vtc ask"
        )
    if not any(item.name == "ratio" for item in fields(kind)):
        if ratios:
            raise UsageError(f"--ratios: reader {reader!r} reads all of the text and has no ratio; leave them out")
        return [None]
    for ratio in ratios or ():
        if not ratio >= 1:
            raise UsageError(f"--ratios {ratio:g}: a ratio is at least 1")
    return list(dict.fromkeys(map(float, ratios or RATIOS)))


def document_tokens(llm: FrozenLM, asked: int | None, after: int) -> int:
    """Tokens of a document; each is also read whole, so the window limits them.

    Args:
        after: tokens that follow a document at most, or that a reader leaves for them.

    Raises:
        UsageError: with the most that fit.
    """
    most = llm.window - 1 - after - 1  # a token starts the text, and another is the answer's first
    if most < SHORTEST:
        raise UsageError(
            f"--next-tokens {after - 1}: leaves no room for a document in the window of {llm.name}; lower it"
        )
    if asked is not None and asked > most:
        raise UsageError(
            f"--tokens {asked}: each document is also read whole, and the window of {llm.name} ({llm.window}) has "
            f"room for {most} tokens of one; choose at most that"
        )
    return min(TOKENS, most) if asked is None else asked


def content(path: str | os.PathLike[str], artifacts: str | os.PathLike[str] | None) -> bytes:
    """The text of a file, restored where it is a document.

    Raises:
        UsageError: it is empty.
    """
    if is_document(path):
        text = api.restore(path, artifacts=artifacts)
        assert text is not None  # no target was named
    else:
        with open_source(path) as stream:
            text = stream.read()
    if not text:
        raise UsageError(f"{path}: is empty, there is nothing to measure; name a file that holds text")
    return text


def text_of(path: str, data: bytes, llm: FrozenLM, count: int, tokens: int, next_tokens: int, seed: int) -> Text:
    """A file cut into stretches."""
    ids = np.concatenate([page.ids for page in plain(data, llm)[1]])
    return Text(path, len(data), ids, cut(ids, count, tokens, next_tokens, seed, Path(path).name))
