"""The frozen language model: the one door through which everything else in vtc touches it.

Weights are loaded once from a local folder, need no gradient and never change: `fingerprint()` is equal before and
after any work, and `frozen()` checks that around a block.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import sys
import warnings
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from safetensors import SafetensorError
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from vtc.llm.chat import chat_around, chat_ids
from vtc.llm.sources import DEFAULT, locate, name_of
from vtc.llm.vocabulary import Vocabulary, first_line
from vtc.records.errors import UsageError, VerificationError, VtcError

Ids: TypeAlias = "Sequence[int] | np.ndarray | torch.Tensor"

NLL_CHUNK = 512
"""Positions whose logits exist at one time in `nll`: 100 MB in float32 for 49,152 tokens."""


class FrozenLM:
    """A causal language model that is only read.

    Attributes:
        name: short name for messages and document headers.
        model: the transformers model, in eval mode.
        vocabulary: its ids and bytes.
        window: the most tokens that its positions cover.
        width: size d of an input embedding.
        stops: ids that end an answer.
        start: id before the first token of a text that stands alone.

    What was read is a key/value cache. Methods that take one leave it as it was, so that one document can be read once
    and asked many times.
    """

    def __init__(self, model: Any, vocabulary: Vocabulary, name: str, renderer: Any = None) -> None:
        """Freeze a loaded transformers model.

        Args:
            renderer: its transformers tokenizer, used for the chat template and the ids that end an answer.
        """
        self.model = model.eval().requires_grad_(False)
        self.vocabulary = vocabulary
        self.name = name
        self._renderer = renderer
        config = model.config.get_text_config()
        self.window: int = getattr(config, "max_position_embeddings", None) or sys.maxsize
        self.width: int = model.get_input_embeddings().weight.shape[1]
        renamed = "cache" in inspect.signature(model.forward).parameters  # by transformers 5
        self._cache_word = "cache" if renamed else "past_key_values"
        self.stops: set[int] = set()
        for holder in (model.generation_config, config, renderer):
            ends = getattr(holder, "eos_token_id", None)
            self.stops |= set() if ends is None else set(ends) if isinstance(ends, list) else {ends}
        begin = getattr(renderer, "bos_token_id", None)
        self.start: int = begin if begin is not None else min(self.stops, default=0)

    @classmethod
    def load(
        cls,
        spec: str | Path = DEFAULT,
        device: str | torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> FrozenLM:
        """Load a model without touching the network if it is on this machine.

        Args:
            spec: "smollm2-135m", a folder with safetensors and `tokenizer.json`, or a hub id.
            device: default: the first GPU if there is one, else the CPU.
            dtype: default: float32 on a CPU, where half precision is slow, else what the weights are stored in.

        Raises:
            VtcError: no such model, or its files are damaged or of another kind.
            UsageError: no such device.
        """
        place = usable(device)
        folder, name = locate(spec), name_of(spec)
        vocabulary = Vocabulary.load(folder)
        vocabulary.name = name
        precision = dtype or (torch.float32 if place.type == "cpu" else "auto")
        try:
            with quiet():
                renderer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
                model = AutoModelForCausalLM.from_pretrained(
                    folder, local_files_only=True, use_safetensors=True, dtype=precision
                )
                return cls(model.to(place), vocabulary, name, renderer)
        except (OSError, ValueError, KeyError, ImportError, RuntimeError, SafetensorError) as error:
            raise VtcError(f"{folder}: not a loadable causal LM ({first_line(error)}); fetch it again") from error

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.embeddings.device

    @property
    def embeddings(self) -> torch.Tensor:
        """Input embedding rows [V, d] of the vocabulary's ids, without padding rows."""
        return self.model.get_input_embeddings().weight.detach()[: self.vocabulary.size]

    def fingerprint(self) -> str:
        """SHA-256 (hex) over names and bytes of all parameters; tied ones count once."""

        def digest(item: tuple[str, torch.Tensor]) -> bytes:
            raw = item[1].detach().reshape(-1).contiguous().view(torch.uint8).cpu().numpy()
            return item[0].encode() + hashlib.sha256(raw.data).digest()

        with ThreadPoolExecutor(2) as pool:  # hashing releases the interpreter lock
            return hashlib.sha256(b"".join(pool.map(digest, self.model.named_parameters()))).hexdigest()

    @cached_property
    def identity(self) -> str:
        """The fingerprint when it was first asked for: what artefacts of this model are stamped with."""
        return self.fingerprint()

    @contextmanager
    def frozen(self) -> Iterator[FrozenLM]:
        """Check that a block leaves every weight as it was.

        Raises:
            VerificationError: a weight changed.
        """
        before = self.fingerprint()
        try:
            yield self
        finally:
            if self.fingerprint() != before:
                raise VerificationError(f"the weights of {self.name} were changed; load them again and mend the caller")

    def chat(self, user: str, system: str | None = None) -> np.ndarray:
        """Ids of one user turn up to where the answer begins, int32 [n]; texts can not open or close a turn."""
        return chat_ids(self._renderer, self.vocabulary, user, system)

    def chat_around(self, before: str, after: str) -> tuple[np.ndarray, np.ndarray]:
        """The two parts of a user turn with room for a document's ids between them; see `vtc.llm.chat`."""
        return chat_around(self._renderer, self.vocabulary, before, after)

    @torch.inference_mode()
    def prefill(self, ids: Ids, cache: Any = None, *, beyond: bool = False) -> Any:
        """Read ids [n] and return the key/value cache; no logits are computed. What timings are compared with.

        Args:
            cache: what was read before; it grows.
            beyond: positions may exceed the window, for a look at how the model attends.
        """
        batch = self._batch(ids, 0 if beyond else _length(cache))
        with attended(self.model, cache):
            return self.model.base_model(input_ids=batch, use_cache=True, **{self._cache_word: cache})[self._cache_word]

    @torch.inference_mode()
    def prefill_vectors(self, rows: torch.Tensor) -> Any:
        """Read input vectors [n, d], such as rows of `embeddings`, and return the key/value cache.

        Raises:
            VtcError: there are none, or more than the window holds.
        """
        self._check_count(len(rows), 0)
        rows = rows.to(self.device, self.embeddings.dtype)[None]
        return self.model.base_model(inputs_embeds=rows, use_cache=True)[self._cache_word]

    def choices_nll(self, prompt: Ids, choices: Sequence[Ids], cache: Any = None) -> list[torch.Tensor]:
        """Negative log-likelihood in nats of the ids of each choice, float32 [n of the choice], as `score_choices`."""
        return [losses for losses, _ in self.score_choices(prompt, choices, cache)]

    @torch.inference_mode()
    def score_choices(self, prompt: Ids, choices: Sequence[Ids], cache: Any = None) -> list[tuple[torch.Tensor, bool]]:
        """What each choice costs after `cache` and prompt: the negative log-likelihood in nats of its ids, float32
        [n of the choice], and whether it is what greedy decoding writes.

        Args:
            prompt: at least one id; read once for all choices.
            choices: each at least one id.

        Raises:
            VtcError: something is empty, or exceeds the window.
        """
        batches = [self._batch(choice) for choice in choices]
        prompt = self._batch(prompt, _length(cache) + max((batch.shape[1] for batch in batches), default=0))
        with untouched(cache):
            first, cache = self._forward(prompt, cache, 1)
            found = []
            for batch in batches:
                logits = first
                if batch.shape[1] > 1:
                    with untouched(cache):
                        rest, _ = self._forward(batch[:, :-1], cache, batch.shape[1] - 1)
                    logits = torch.cat([first, rest])
                greedy = logits[:, : self.vocabulary.size].argmax(-1).equal(batch[0])
                found.append((cross_entropy(logits.float(), batch[0], reduction="none"), greedy))
        return found

    @torch.inference_mode()
    def nll(self, ids: Ids, start: int = 0) -> torch.Tensor:
        """Negative log-likelihood in nats of ids[start:], each given all before it; float32 [n - start].

        The very first id has nothing before it and is charged log(V), so that `nll(ids)[k:]` is `nll(ids, k)`.
        """
        batch = self._batch(ids)  # [1, n]
        count, cache, losses = batch.shape[1], None, []
        for begin in range(0, count - 1, NLL_CHUNK):
            end = min(begin + NLL_CHUNK, count - 1)
            keep = end - max(begin, start - 1)  # positions of this chunk whose next id is asked for
            logits, cache = self._forward(batch[:, begin:end], cache, max(keep, 1))
            if keep > 0:
                losses.append(cross_entropy(logits.float(), batch[0, end - keep + 1 : end + 1], reduction="none"))
        if start <= 0:
            uniform = torch.full((1,), float(np.log(self.vocabulary.size)), device=batch.device)
            losses.insert(0, uniform)
        return torch.cat(losses) if losses else torch.zeros(0, device=batch.device)

    def generate(self, ids: Ids, max_new_tokens: int = 128, cache: Any = None) -> Generator[bytes, None, None]:
        """Greedy continuation of ids [n] on top of `cache`: the bytes of each new token as it arrives.

        Ends at a token in `stops`, at `max_new_tokens`, or when the window is full. Until the iterator ends or is
        closed the cache is in use.
        """
        batch = self._batch(ids, _length(cache))
        room = self.window - _length(cache) - batch.shape[1]
        with untouched(cache):
            for _ in range(min(max_new_tokens, room)):
                logits, cache = self._forward(batch, cache, 1)
                token = int(logits[0, : self.vocabulary.size].argmax())
                if token in self.stops:
                    return
                yield self.vocabulary.token_bytes[token]
                batch = torch.tensor([[token]], device=batch.device)

    @torch.inference_mode()
    def _forward(self, batch: torch.Tensor, cache: Any, keep: int) -> tuple[torch.Tensor, Any]:
        """Read ids [1, n] on top of `cache`: logits of the last `keep` positions [keep, V], and the cache with them."""
        word = self._cache_word
        with attended(self.model, cache):
            out = self.model(input_ids=batch, use_cache=True, logits_to_keep=keep, **{word: cache})
        return out.logits[0, -keep:], out[word]

    def _batch(self, ids: Ids, beside: int = 0) -> torch.Tensor:
        """Ids as int64 [1, n] on the model's device, 1 <= n <= window - beside."""
        batch = torch.as_tensor(ids, dtype=torch.int64, device=self.device).reshape(1, -1)
        self._check_count(batch.shape[1], beside)
        return batch

    def _check_count(self, count: int, beside: int) -> None:
        if not count:
            raise VtcError(f"{self.name}: there is nothing to read; give it at least one token")
        if count + beside > self.window:
            total = count + beside
            raise VtcError(f"{total} tokens exceed the window of {self.name} ({self.window}); shorten the text")


def attended(model: Any, cache: Any) -> AbstractContextManager[None]:
    """A block in which a model attends to a cache in the cache's own way, if it has one (its method `attending`)."""
    own = getattr(cache, "attending", None)
    return own(model) if own else nullcontext()


def _length(cache: Any) -> int:
    """Tokens that a cache has seen; 0 without one."""
    return 0 if cache is None else cache.get_seq_length()


@contextmanager
def untouched(cache: Any) -> Iterator[None]:
    """Whatever is read on top of a cache inside the block is taken off again."""
    if cache is None:
        yield
        return
    layers = None
    if any(getattr(layer, "is_sliding", False) for layer in cache.layers):  # what slid out can not be put back
        layers = copy.deepcopy(cache.layers)
    before = cache.get_seq_length()
    try:
        yield
    finally:
        if layers is not None:
            cache.layers = layers
        elif extra := cache.get_seq_length() - before:
            cache.crop(-extra)


def usable(device: str | torch.device | None) -> torch.device:
    """The device asked for, or the default one."""
    try:
        place = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        torch.empty(0, device=place)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(f"device {device!r} is not usable here ({first_line(error)}); try 'cpu'") from error
    return place


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars, warnings or log lines of transformers inside the block; its settings come back afterwards."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
