"""Worker of the peer kvpress: reads a document under one of its presses, and probes on what is left of the cache.

    VENV/bin/python -I kvpress_worker.py --model FOLDER [--threads N]

speaks JSON lines on standard input and output, as `README.md` says, and needs nothing but its own environment.
It does what `kvpress.KVPressTextGenerationPipeline` does (NVIDIA/kvpress 0.5.5, kvpress/pipeline.py): the document is
read by `model.model` inside `with press(model)`, so that no question is seen; every probe is read on top without the
press, at positions that go on from the document's full length; then the cache is cropped back. The pipeline itself
takes and gives texts, and here ids and likelihoods are wanted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import torch
from kvpress import (  # type: ignore[import-not-found]
    BasePress,
    ChunkKVPress,
    ExpectedAttentionPress,
    KnormPress,
    KVzipPress,
    SnapKVPress,
    StreamingLLMPress,
    TOVAPress,
)
from torch.nn.functional import cross_entropy
from transformers import AutoModelForCausalLM, DynamicCache

CHUNK = 512
"""Positions whose logits exist at one time."""

CHUNK_KV = 20
"""Tokens that ChunkKV keeps or drops together; the default of its authors and of kvpress."""


class KeptScoresPress(KVzipPress):  # type: ignore[misc]
    """KVzip that can prune the same document again at another ratio: its scores, which take most of its time, do not
    depend on the ratio."""

    kept: torch.Tensor
    """[layers, 1, KV heads, n]."""

    def compress_post(self, model: Any) -> None:
        """As KVzip does, after noting the scores."""
        self.kept = self.score_val.clone()
        super().compress_post(model)

    def again(self, model: Any, share: float) -> None:
        """Prune at another share of entries to drop."""
        self.compression_ratio, self.score_val = share, self.kept.clone()
        super().compress_post(model)


PRESSES: dict[str, Callable[[float], BasePress]] = {
    "snapkv": lambda share: SnapKVPress(compression_ratio=share),
    "kvzip": lambda share: KeptScoresPress(compression_ratio=share),
    "streamingllm": lambda share: StreamingLLMPress(compression_ratio=share),
    "chunkkv": lambda share: ChunkKVPress(press=SnapKVPress(compression_ratio=share), chunk_length=CHUNK_KV),
    "expectedattention": lambda share: ExpectedAttentionPress(compression_ratio=share),
    "tova": lambda share: TOVAPress(compression_ratio=share),
    "knorm": lambda share: KnormPress(compression_ratio=share),
}
"""Made for a share of entries to drop; all else as kvpress has it. "full" is no press."""


class Reading:
    """One document in the cache of the model, asked any number of times."""

    def __init__(self, model: Any, system: str, ratio: float, opening: list[int], document: list[int]) -> None:
        """Read opening and document under a press.

        Raises:
            ValueError: an unknown system, an empty document, a ratio below 1.
        """
        if not document or ratio < 1:
            raise ValueError(f"{len(document)} document tokens at ratio {ratio}; both are at least 1")
        self.model, self.opening, self.length = model, len(opening), len(opening) + len(document)
        self.read_ids = (opening, document)
        start = time.perf_counter()
        self.cache = DynamicCache()
        ids = self.batch(opening + document)
        self.press = press = make_press(system, self.opening + max(1, round(len(document) / ratio)), self.length)
        with torch.inference_mode():
            if press is None:
                model.model(input_ids=ids, past_key_values=self.cache)
            else:
                with press(model):
                    model.model(input_ids=ids, past_key_values=self.cache)
                    if isinstance(press, KVzipPress):
                        # KVzip repeats the document without what stands before it, and takes the length of that from
                        # the chat template with an empty turn; the true one is known here.
                        press.prefix_length = self.opening
        self.sizes = [layer.keys.shape[2] for layer in self.cache.layers]
        # Entries that are masked get other keys whenever something is read, so the true ones are kept for `again`.
        self.keys = [layer.keys.clone() for layer in self.cache.layers] if isinstance(press, KeptScoresPress) else []
        self.seconds = time.perf_counter() - start

    def again(self, ratio: float, opening: list[int], document: list[int]) -> bool:
        """Prune what was read at another ratio, if it was the same document under KVzip; `seconds` stay those of the
        first time."""
        entries = self.opening + max(1, round(len(document) / ratio))
        press = self.press
        if not isinstance(press, KeptScoresPress) or (opening, document) != self.read_ids or entries >= self.length:
            return False
        for layer, keys in zip(self.cache.layers, self.keys, strict=True):
            layer.keys = keys.clone()
        press.again(self.model, share_of(entries, self.length))
        return True

    def positions(self) -> float:
        """Entries that attention sees less those of the opening, averaged over layers and heads."""
        hidden = 0
        for layer in self.model.model.layers:
            # Presses that decide head by head leave the entries where they are and name those to be ignored.
            masked = getattr(layer.self_attn, "masked_key_indices", None)
            hidden += 0 if masked is None else len(masked[2])
        heads = self.cache.layers[0].keys.shape[1]
        return (sum(self.sizes) - hidden / heads) / len(self.sizes) - self.opening

    @torch.inference_mode()
    def probe(self, probe: dict[str, Any]) -> dict[str, Any]:
        """Losses of the choices (nats per token), or a greedy continuation."""
        prompt = probe["prompt"]
        after = self.length + len(prompt)
        first = self.read(prompt, self.length, keep=1)  # [1, V]
        try:
            if "choices" in probe:
                sizes = [layer.keys.shape[2] for layer in self.cache.layers]
                losses = []
                for choice in probe["choices"]:
                    losses.append(self.losses(first, choice, after))
                    self.crop(sizes)
                return {"nll": losses}
            return {"ids": self.continuation(first, after, probe["new"], set(probe["stops"]))}
        finally:
            self.crop(self.sizes)

    def losses(self, first: torch.Tensor, choice: list[int], start: int) -> list[float]:
        """Negative log-likelihood of each id of a choice that stands at `start`; `first` [1, V] predicts its first."""
        target = self.batch(choice)[0]
        losses = [cross_entropy(first, target[:1], reduction="none")]
        for begin in range(0, len(choice) - 1, CHUNK):
            part = choice[:-1][begin : begin + CHUNK]
            logits = self.read(part, start + begin, keep=len(part))
            losses.append(cross_entropy(logits, target[begin + 1 : begin + 1 + len(part)], reduction="none"))
        return torch.cat(losses).tolist()

    def continuation(self, first: torch.Tensor, start: int, new: int, stops: set[int]) -> list[int]:
        """Up to `new` greedy ids before one of `stops`."""
        ids: list[int] = []
        while len(ids) < new:
            token = int(first[-1].argmax())
            if token in stops:
                break
            ids.append(token)
            if len(ids) < new:
                first = self.read([token], start + len(ids) - 1, keep=1)
        return ids

    def read(self, ids: list[int], start: int, keep: int) -> torch.Tensor:
        """Read ids at positions from `start` on top of the cache: float32 logits of the last `keep` [keep, V]."""
        places = torch.arange(start, start + len(ids), device=self.model.device)[None]
        out = self.model(
            input_ids=self.batch(ids), past_key_values=self.cache, position_ids=places, logits_to_keep=keep
        )
        return out.logits[0].float()

    def crop(self, sizes: list[int]) -> None:
        """Take away what was read since, as the pipeline does."""
        for layer, size in zip(self.cache.layers, sizes, strict=True):
            layer.keys, layer.values = layer.keys[:, :, :size], layer.values[:, :, :size]

    def batch(self, ids: list[int]) -> torch.Tensor:
        """Ids as [1, n] on the model's device."""
        return torch.tensor([ids], dtype=torch.int64, device=self.model.device)


def make_press(system: str, kept: int, entries: int) -> BasePress | None:
    """The press under which `kept` of so many entries stay (ChunkKV: to the nearest whole chunk).

    Raises:
        ValueError: an unknown system.
    """
    if system == "full":
        return None
    if system not in PRESSES:
        raise ValueError(f"no press '{system}'; there are full, {', '.join(PRESSES)}")
    if kept >= entries:
        return None
    if system == "chunkkv":  # it counts in chunks; the last, shorter one is in SnapKV's window and so is always kept
        rest = entries % CHUNK_KV
        kept, entries = max(1, round((kept - rest) / CHUNK_KV) + (rest > 0)), -(-entries // CHUNK_KV)
    return PRESSES[system](share_of(kept, entries))


def share_of(kept: int, entries: int) -> float:
    """The share of entries to drop so that `kept` stay."""
    # kvpress keeps int(entries * (1 - share)); the thousandth stops rounding errors from taking one away.
    return max(0.0, 1 - (kept + 1e-3) / entries)


def reading_of(model: Any, request: dict[str, Any], last: dict[str, Reading]) -> Reading:
    """The document of a request under its press; `last` holds the one that KVzip read last."""
    ratio, opening, document = request["ratio"], request["opening"], request["document"]
    if request["system"] != "kvzip":
        return Reading(model, request["system"], ratio, opening, document)
    if "kvzip" not in last or not last["kvzip"].again(ratio, opening, document):
        last.clear()  # frees the one before another is made
        last["kvzip"] = Reading(model, "kvzip", ratio, opening, document)
    return last["kvzip"]


def answer(model: Any, request: dict[str, Any], last: dict[str, Reading]) -> dict[str, Any]:
    """The answer to one request, without its id."""
    reading = reading_of(model, request, last)
    outcomes, seconds = [], []
    for probe in request["probes"]:
        start = time.perf_counter()
        outcomes.append(reading.probe(probe))
        seconds.append(time.perf_counter() - start)
    return {
        "positions": reading.positions(),
        "outcomes": outcomes,
        "prepare_seconds": reading.seconds,
        "probe_seconds": seconds,
    }


def main() -> None:
    """Answer the requests of standard input until it ends."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="print what runs here, and end")
    parser.add_argument("--model", help="folder of the model")
    parser.add_argument("--threads", type=int, help="CPU threads")
    args = parser.parse_args()
    if args.check:
        print(f"kvpress {version('kvpress')}, transformers {version('transformers')}, torch {version('torch')}")
        return
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not get between the answers
    if args.threads:
        torch.set_num_threads(args.threads)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.float32 if device == "cpu" else "auto"
    model = AutoModelForCausalLM.from_pretrained(args.model, local_files_only=True, dtype=dtype).to(device).eval()
    last: dict[str, Reading] = {}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            result = answer(model, request, last)
        except Exception as error:  # whatever a peer raises belongs to this request; the next one may go well
            result = {"error": f"{type(error).__name__}: {' '.join(str(error).split())}"}
        print(json.dumps({"id": request["id"], **result}), file=channel, flush=True)


if __name__ == "__main__":
    main()
