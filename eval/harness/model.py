"""The model `vtc` of lm-evaluation-harness (Gao et al., https://github.com/EleutherAI/lm-evaluation-harness).

Importing this module registers it, after which all of the harness knows it by name:

    import eval.harness.model
    lm_eval.simple_evaluate("vtc", "reader=truncate,ratio=8,tail=64", tasks=["lambada_openai"])

The last `tail` tokens of a request's context stay plain, because the question stands there. What comes before them is
the document that the reader holds, except for the very first token, which stands before it. A context that leaves no
document is read as it is. Ids are those of the harness's own Hugging Face model, so that with `reader=text` its
likelihoods are too; but special tokens that are spelled out in a text stay plain text, and a document that exceeds what
the reader can hold is an error, where that model would drop the beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from lm_eval.api.instance import Instance
from lm_eval.api.model import TemplateLM
from lm_eval.api.registry import register_model
from lm_eval.models.utils import normalize_gen_kwargs, postprocess_generated_text

from eval.systems.base import parse_spec
from eval.systems.reader import build_reader
from vtc.document.paging import PAGE_SYMBOLS
from vtc.llm.frozen import FrozenLM
from vtc.readers.base import Page, Reader
from vtc.records.errors import UsageError
from vtc.records.progress import bar

ROLLING_BLOCK = 512
"""Tokens of a text without context that are scored at a time, given what the reader holds of all before them."""
ANSWER_TOKENS = 256
"""Longest answer where a task sets none, as in the harness's own models."""


@register_model("vtc")
class VtcLM(TemplateLM):
    """A frozen LLM behind a reader. Requests of one document are served together, so that it is read once."""

    def __init__(
        self,
        llm: str | FrozenLM = "smollm2-135m",
        reader: str | None = "text",
        tail: int = 64,
        device: str | None = None,
        batch_size: int | str | None = None,
        max_batch_size: int | None = None,
        **options: Any,
    ) -> None:
        """Load the LLM and the reader.

        Args:
            llm: name, folder or hub id, or a loaded model.
            reader: name in `eval.registry.ALL_READERS`, or `name:key=value`. None is the reader "none", since the
                harness turns that word into it.
            tail: tokens at the end of a context that stay plain.
            batch_size: taken because the harness gives it; requests are served one by one.
            max_batch_size: likewise.
            options: fields of the reader's dataclass, such as ratio.

        Raises:
            UsageError: an unknown reader or option.
            VtcError: there is no such LLM.
        """
        super().__init__()
        if type(tail) is not int or tail < 1:
            raise UsageError(f"tail={tail}: must be a whole number, at least 1")
        name, own = parse_spec(reader or "none")
        self.llm = llm if isinstance(llm, FrozenLM) else FrozenLM.load(llm, device)
        self.reader = build_reader(name, self.llm, {**own, **options})
        self.tail = tail
        self.document_tokens = self.plain_tokens = 0
        self.positions = 0.0
        self._asks = type(self.reader).continuation is Reader.continuation  # it reads by a question only
        self._document = np.zeros(0, np.int32)

    @property
    def eot_token_id(self) -> int:
        """What stands before a text that has no context."""
        return self.llm.start

    @property
    def tokenizer_name(self) -> str:
        """What the harness files cached requests under."""
        return self.llm.name

    def tok_encode(self, string: str, add_special_tokens: bool | None = None, **_: Any) -> list[int]:
        """Ids of a text; none are added."""
        ids: list[int] = self.llm.vocabulary.encode(string).tolist()
        return ids

    def get_model_info(self) -> dict[str, Any]:
        """What the harness adds to its results: how many positions the documents of all contexts took so far."""
        return {
            "reader": self.reader.name,
            "tail": self.tail,
            "document_tokens": self.document_tokens,
            "positions": self.positions,
            "position_ratio": self.document_tokens / self.positions if self.positions else None,
            "plain_tokens": self.plain_tokens,
        }

    def _loglikelihood_tokens(
        self, requests: list[tuple[tuple[str, str], list[int], list[int]]], **options: Any
    ) -> list[tuple[float, bool]]:
        """Log-likelihood in nats of each continuation, and whether greedy decoding writes it."""
        found = self._score([(context, continuation) for _, context, continuation in requests])
        for (texts, _, _), answer in zip(requests, found, strict=True):
            self.cache_hook.add_partial("loglikelihood", texts, answer)
        return found

    def loglikelihood_rolling(self, requests: list[Instance], disable_tqdm: bool = False) -> list[float]:
        """Log-likelihood in nats of whole texts, a block of tokens at a time.

        Raises:
            UsageError: this reader picks what it reads by a question, and here is none.
        """
        if self._asks:
            self.reader.continuation()
        pairs: list[tuple[list[int], list[int]]] = []
        owners: list[int] = []
        for number, request in enumerate(requests):
            ids = [self.eot_token_id, *self.tok_encode(request.args[0])]
            starts = range(1, len(ids), ROLLING_BLOCK)
            pairs += [(ids[:start], ids[start : start + ROLLING_BLOCK]) for start in starts]
            owners += [number] * len(starts)
        found = [0.0] * len(requests)
        for number, (likelihood, _) in zip(owners, self._score(pairs), strict=True):
            found[number] += likelihood
        for request, total in zip(requests, found, strict=True):
            self.cache_hook.add_partial("loglikelihood_rolling", request.args, total)
        return found

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        """Greedy answers, each up to its stop strings.

        Raises:
            UsageError: a task wants answers drawn at random.
        """
        settings = [normalize_gen_kwargs(request.args[1], ANSWER_TOKENS) for request in requests]
        if any(setting["do_sample"] for setting in settings):
            raise UsageError("model 'vtc' answers greedily; set do_sample=false among the task's generation_kwargs")
        contexts = [self.tok_encode(request.args[0]) or [self.eot_token_id] for request in requests]
        found = [""] * len(requests)
        for ids, numbers in bar(grouped(contexts, self.tail), unit="context"):
            longest = max(settings[number]["max_gen_toks"] for number in numbers)
            prompt, cache = self._given(ids, longest)
            for number in numbers:
                stops = [stop for stop in settings[number]["until"] if stop]
                with closing(self.llm.generate(prompt, settings[number]["max_gen_toks"], cache)) as tokens:
                    text = until(tokens, stops)
                found[number] = postprocess_generated_text(text, stops, None)
                self.cache_hook.add_partial("generate_until", requests[number].args, found[number])
        return found

    def _score(self, pairs: Sequence[tuple[list[int], list[int]]]) -> list[tuple[float, bool]]:
        """Log-likelihood and greediness of continuations, in the order of the pairs."""
        found = [(0.0, False)] * len(pairs)
        for ids, numbers in bar(grouped([context for context, _ in pairs], self.tail), unit="context"):
            choices = [pairs[number][1] for number in numbers]
            prompt, cache = self._given(ids, max(map(len, choices)))
            scored = self.llm.score_choices(prompt, choices, cache)
            for number, (losses, greedy) in zip(numbers, scored, strict=True):
                found[number] = (-float(losses.double().sum()), greedy)
        return found

    def _given(self, ids: np.ndarray, new_tokens: int) -> tuple[np.ndarray, Any]:
        """Prompt, int32 [n >= 1], and cache that stand for a context; the document is read if it is a new one."""
        if len(ids) <= self.tail + 1:
            self.plain_tokens += len(ids)
            return ids, None
        document, tail = ids[1 : -self.tail], ids[-self.tail :]
        words = self.llm.vocabulary
        if not np.array_equal(document, self._document):
            parts = np.split(document, range(PAGE_SYMBOLS, len(document), PAGE_SYMBOLS))
            about = {"text_bytes": int(words.sizes[document].sum())}
            self.reader.prepare([Page(words.decode(part), part) for part in parts], about, "the context of a request")
            self._document = document
        if self._asks:
            context = self.reader.context(words.decode(tail).decode(errors="replace"), new_tokens)
            prompt = context.prompt
        else:
            context = self.reader.continuation(ids[:1])
            prompt = np.concatenate([context.prompt, tail])
        self.document_tokens += len(document)
        self.positions += context.positions
        self.plain_tokens += 1 + self.tail
        return prompt, context.cache


def grouped(contexts: Sequence[Sequence[int]], tail: int) -> list[tuple[np.ndarray, list[int]]]:
    """Distinct contexts, int32 [n] each, with the numbers of the requests that have them.

    Equal documents stand side by side, the longest first: what does not fit is found at the start.
    """
    owners: dict[bytes, list[int]] = {}
    for number, context in enumerate(contexts):
        owners.setdefault(np.asarray(context, np.int32).tobytes(), []).append(number)
    distinct = [(np.frombuffer(key, np.int32).copy(), numbers) for key, numbers in owners.items()]

    def document(item: tuple[np.ndarray, list[int]]) -> tuple[int, bytes]:
        return -max(0, len(item[0]) - tail), item[0][1:-tail].tobytes()

    return sorted(distinct, key=document)


def until(tokens: Iterable[bytes], stops: Sequence[str]) -> str:
    """The text of tokens as they come, up to the first that completes one of the stop strings."""
    held = b""
    for token in tokens:
        held += token
        if any(stop.encode() in held for stop in stops):
            break
    return held.decode(errors="replace")
