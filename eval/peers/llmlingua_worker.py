"""Worker of the peer LLMLingua: leaves out of a text the tokens that the language model finds easy to guess.

    VENV/bin/python -I llmlingua_worker.py --model FOLDER [--threads N]

speaks JSON lines on standard input and output, as `README.md` says, and needs nothing but its own environment.
It calls `llmlingua.PromptCompressor.compress_prompt` (microsoft/LLMLingua 0.2.2, the first LLMLingua, arXiv 2310.05736)
with the given causal model as the scorer. LLMLingua-2 wants an encoder of its own and is not run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from importlib.metadata import version
from typing import Any

import tiktoken  # type: ignore[import-not-found]
import torch
from llmlingua import PromptCompressor  # type: ignore[import-not-found]

SEGMENT = 200
"""Tokens that LLMLingua judges together; its default."""

TRIES = 3
CLOSE = 0.05
"""A result within this share of the budget is near enough."""


class Words:
    """Stands in for OpenAI's tokenizer, which a network is needed for and a statistic unused here is counted by."""

    @staticmethod
    def encode(text: str) -> list[str]:
        """Words of a text."""
        return text.split()


def compress(compressor: Any, text: str, question: str, ratio: float) -> dict[str, Any]:
    """What is left of a text at about 1 / ratio of its tokens, and how long that took without the tries before.

    LLMLingua misses the size it is asked for in two ways, both mended here so that sizes can be compared. It passes
    over what remains after the last whole segment, which can be a quarter of a page: segments are made a little longer
    or shorter than its default, so that they divide the text. And the thresholds it estimates keep too much or too
    little: the target is moved by what came out, `TRIES` at most, and the text nearest to the budget is taken.

    Raises:
        ValueError: no text, or a ratio below 1.
    """
    if not text or ratio < 1:
        raise ValueError(f"a text of {len(text)} characters at ratio {ratio}; both are at least 1")
    tokens = len(compressor.tokenizer(text, add_special_tokens=False).input_ids)
    budget = tokens / ratio
    segment = max(1, tokens // max(1, round(tokens / SEGMENT)))
    target, nearest, distance = budget, {"text": "", "prepare_seconds": 0.0}, float("inf")
    for _ in range(TRIES):
        start = time.perf_counter()
        # In this mode the question changes nothing; LongLLMLingua, another mode, would look at it.
        made = compressor.compress_prompt(
            [text], question=question, target_token=target, iterative_size=segment, concate_question=False
        )["compressed_prompt"]
        seconds = time.perf_counter() - start
        kept = len(compressor.tokenizer(made, add_special_tokens=False).input_ids)
        if abs(kept - budget) < distance:
            nearest, distance = {"text": made, "prepare_seconds": seconds}, abs(kept - budget)
        if distance <= CLOSE * budget:
            break
        target *= budget / max(1, kept)
    return nearest


def main() -> None:
    """Answer the requests of standard input until it ends."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="print what runs here, and end")
    parser.add_argument("--model", help="folder of the model")
    parser.add_argument("--threads", type=int, help="CPU threads")
    args = parser.parse_args()
    if args.check:
        print(f"llmlingua {version('llmlingua')}, transformers {version('transformers')}, torch {version('torch')}")
        return
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not get between the answers
    if args.threads:
        torch.set_num_threads(args.threads)
    tiktoken.encoding_for_model = lambda name: Words()
    local = {"local_files_only": True, "trust_remote_code": False}
    compressor = PromptCompressor(args.model, "cuda" if torch.cuda.is_available() else "cpu", local)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            result = compress(compressor, request["text"], request["question"], request["ratio"])
        except Exception as error:  # whatever a peer raises belongs to this request; the next one may go well
            result = {"error": f"{type(error).__name__}: {' '.join(str(error).split())}"}
        print(json.dumps({"id": request["id"], **result}), file=channel, flush=True)


if __name__ == "__main__":
    main()
