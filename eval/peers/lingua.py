"""LLMLingua as a system: it drops tokens from the text, scored by the frozen LLM itself; what is left is read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from eval.peers.adapter import Worker
from eval.schema import Item, Result
from eval.systems.base import System
from eval.systems.reader import ReaderSystem
from vtc.llm.sources import locate
from vtc.records.errors import UsageError


@dataclass
class Lingua(System):
    """Compresses the text without knowing the question, then reads what is left as the reader `text` does."""

    ratio: float = field(init=False)
    _worker: Worker = field(init=False)
    _reader: ReaderSystem = field(init=False)

    def __post_init__(self) -> None:
        unknown = set(self.options) - {"ratio"}
        if unknown or not float(self.options.get("ratio", 0)) >= 1:
            raise UsageError(f"{self.name}: takes one option, ratio, of at least 1; write {self.name}:ratio=4")
        self.ratio = float(self.options["ratio"])
        model = str(locate(self.bench.llm_name))
        self._worker = Worker(
            "llmlingua", "llmlingua_worker.py", "--model", model, "--threads", str(self.bench.threads)
        )
        self._reader = ReaderSystem(self.bench, "text")

    def run(self, item: Item) -> Result:
        """The shorter text in place of the item's own; positions are those of the shorter one."""
        text = item.text.decode(errors="replace")
        tokens = len(self.bench.vocabulary.encode(text))
        answer = self._worker.ask({"id": item.id, "text": text, "question": "", "ratio": self.ratio})
        if "error" in answer or not answer.get("text"):
            return Result(refused=answer.get("error", "nothing of the text was left"), text_tokens=tokens)
        found = self._reader.run(replace(item, text=answer["text"].encode()))
        return replace(
            found, text_tokens=tokens, prepare_seconds=found.prepare_seconds + float(answer["prepare_seconds"])
        )

    def close(self) -> None:
        """End the worker."""
        self._worker.close()
