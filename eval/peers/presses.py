"""Key/value presses of kvpress as systems: the same model, the same ids, their own pruning of the cache."""

from __future__ import annotations

from dataclasses import dataclass, field

from eval.peers.adapter import Worker
from eval.schema import Item, Outcome, Result
from eval.systems.base import System
from eval.systems.framing import framed, opening
from vtc.llm.sources import locate
from vtc.records.errors import UsageError


@dataclass
class Press(System):
    """One press at one ratio; the worker process loads the model by itself."""

    ratio: float = field(init=False)
    _worker: Worker = field(init=False)

    def __post_init__(self) -> None:
        unknown = set(self.options) - {"ratio"}
        if unknown or not float(self.options.get("ratio", 0)) >= 1:
            raise UsageError(f"{self.name}: takes one option, ratio, of at least 1; write {self.name}:ratio=8")
        self.ratio = float(self.options["ratio"])
        model = str(locate(self.bench.llm_name))
        self._worker = Worker("kvpress", "kvpress_worker.py", "--model", model, "--threads", str(self.bench.threads))

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
        answer = self._worker.ask({**request, "opening": begin.tolist(), "document": document.tolist()})
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
        """End the worker."""
        self._worker.close()
