"""What a model expects after a document that a reader gave it, what that took, and what it expects after all of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from vtc.llm.frozen import untouched
from vtc.measuring.stretches import Stretch
from vtc.readers.base import Context, Page, Reader
from vtc.readers.text import TextReader

if TYPE_CHECKING:
    from vtc.llm.frozen import FrozenLM


@dataclass(frozen=True)
class Foresight:
    """Of the m tokens that are held out after a document."""

    losses: np.ndarray
    """float32 [m], negative log-likelihood in nats."""
    greedy: np.ndarray
    """int64 [m], the most likely token at each place."""


@dataclass(frozen=True)
class Trial:
    """One reader on one stretch."""

    foresight: Foresight
    positions: float
    """Entries that attention sees for the document."""
    prepare_seconds: float
    """From the document's ids to what is kept of it."""
    first_token_seconds: float
    """From a question to the first token of its answer, the document being prepared."""


@dataclass(frozen=True)
class Reference:
    """The same stretch without its document, and with all of it."""

    none: Foresight
    full: Foresight
    prefill_seconds: float
    """Reading all of it."""
    first_token_seconds: float
    """From a question to the first token of its answer, all of the document being read again."""


def refer(llm: FrozenLM, part: Stretch, question: np.ndarray) -> Reference:
    """What a reader is compared with; `question` is ids int32 [k], for the clock alone."""
    start = np.array([llm.start], np.int32)
    full = trial(TextReader(llm), part, question)
    again = first_token_seconds(llm, np.concatenate([start, part.document, question]))
    return Reference(foresee(llm, Context(start, 0, []), part.held_out), full.foresight, full.prepare_seconds, again)


def trial(reader: Reader, part: Stretch, question: np.ndarray) -> Trial:
    """Let a reader take in the document of a stretch, then let the model go on."""
    text = reader.llm.vocabulary.decode(part.document)
    start = time.perf_counter()
    reader.prepare([Page(text, part.document)], {"text_bytes": len(text)})
    context = reader.continuation()
    prepared = time.perf_counter() - start
    asked = np.concatenate([context.prompt, question])
    return Trial(
        foresight=foresee(reader.llm, context, part.held_out),
        positions=context.positions,
        prepare_seconds=prepared,
        first_token_seconds=first_token_seconds(reader.llm, asked, context.cache),
    )


@torch.inference_mode()
def foresee(llm: FrozenLM, context: Context, held_out: np.ndarray) -> Foresight:
    """Read what is held out, int32 [m + 1], after a context; its first token is read and not scored."""
    ids = torch.as_tensor(np.concatenate([context.prompt, held_out]), dtype=torch.int64, device=llm.device)[None]
    count = len(held_out) - 1
    with untouched(context.cache):
        logits, _ = llm._forward(ids[:, :-1], context.cache, count)  # [m, V]
    losses = cross_entropy(logits.float(), ids[0, -count:], reduction="none")
    return Foresight(losses.cpu().numpy(), logits[:, : llm.vocabulary.size].argmax(-1).cpu().numpy())


def first_token_seconds(llm: FrozenLM, prompt: np.ndarray, cache: Any = None) -> float:
    """Wall time from ids int32 [n], read on top of `cache`, to the token that follows them."""
    start = time.perf_counter()
    for _ in llm.generate(prompt, 1, cache):
        pass
    return time.perf_counter() - start
