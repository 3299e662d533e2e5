"""Key/value presses of kvpress as systems: the same model, the same ids, their own pruning of the cache.

All presses of a run, at all their ratios, ask one worker: each would hold the model again, and what KVzip finds out of
a document serves every ratio.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from eval.peers.adapter import Worker
from eval.schema import Item, Outcome, Result
from eval.systems.base import System
from eval.systems.framing import framed, opening
from vtc.llm.sources import locate
from vtc.records.errors import UsageError

PEER = "kvpress"


@dataclass
class Press(System):
    """One press at one ratio; the worker process loads the model by itself."""

    ratio: float = field(init=False)

    def __post_init__(self) -> None:
        unknown = set(self.options) - {"ratio"}
        if unknown or not float(self.options.get("ratio", 0)) >= 1:
            raise UsageError(f"{self.name}: takes one option, ratio, of at least 1; write {self.name}:ratio=8")
        self.ratio = float(self.options["ratio"])
        self.worker()

    def worker(self) -> Worker:
        """That of the bench.

        Raises:
            VtcError: the peer is not built.
        """
        if PEER not in self.bench.workers:
            options = ("--model", str(locate(self.bench.llm_name)), "--threads", str(self.bench.threads))
            self.bench.workers[PEER] = Worker(PEER, "kvpress_worker.py", *options)
        found: Worker = self.bench.workers[PEER]
        return found

    def run(self, item: Item) -> Result:
        """Prune once, probe on what is left."""
        llm = self.bench.llm
        document = self.bench.vocabulary.encode(item.text.decode(errors="replace"))
        begin, probes = opening(llm, item), []
        for probe in item.probes:
            ids = framed(llm, item, probe)
            asked = {"prompt": ids.prompt.tolist()}
            if ids.choices:
                probes.append({**asked, "choices": [choice.tolist() for choice in ids.choices]})
            else:
                probes.append({**asked, "new": probe.new_tokens, "stops": sorted(llm.stops)})
        longest = max(
            len(p["prompt"]) + max(map(len, p.get("choices", [[]])), default=0) + p.get("new", 0) for p in probes
        )
        count = len(begin) + len(document) + longest
        if count > llm.window:
            reason = f"takes {count} tokens while it prunes and the window is {llm.window}"
            return Result(refused=reason, text_tokens=len(document))
        request = {"id": item.id, "system": self.name, "ratio": self.ratio, "probes": probes}
        answer = self.worker().ask({**request, "opening": begin.tolist(), "document": document.tolist()})
        if "error" in answer:
            return Result(refused=answer["error"], text_tokens=len(document))
        outcomes = [
            Outcome(
                llm.vocabulary.decode(found.get("ids", [])).decode(errors="replace").strip(),
                tuple(map(tuple, found.get("nll", []))),
                answer["positions"],
                seconds,
            )
            for found, seconds in zip(answer["outcomes"], answer["probe_seconds"], strict=True)
        ]
        return Result(outcomes, "", len(document), prepare_seconds=answer["prepare_seconds"])

    def close(self) -> None:
        """End the worker; a press that goes on starts another."""
        worker = self.bench.workers.pop(PEER, None)
        if worker is not None:
            worker.close()
