"""A small task and systems for tests of the runner, registered by `install`: texts of digits, and codecs that keep
them, drop one, or crash once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from eval import registry
from eval.bootstrap import Metric
from eval.schema import Item, Outcome, Probe, Result
from eval.systems.base import System
from eval.tasks.base import Task


@dataclass
class Digits(Task):
    """Texts of six digits."""

    name: ClassVar[str] = "digits"
    about: ClassVar[str] = "digits"
    metrics: ClassVar = {"kept": Metric(lambda own, _: own.share("kept", "wanted"))}
    groups: ClassVar = ("parity",)
    count: int = 5

    def items(self) -> Iterator[Item]:
        for number in range(self.count):
            text = f"{123456 + self.seed + number}".encode()
            probes = (Probe("text", tags={"parity": number % 2}),)
            yield Item(f"i{number:02}", "odd" if number % 2 else "even", text, "restore", probes)

    def score(self, item: Item, probe: Probe, outcome: Outcome) -> dict[str, float]:
        return {"kept": float(sum(c in outcome.text for c in item.text.decode())), "wanted": float(len(item.text))}


class Keep(System):
    """Gives the text back."""

    def run(self, item: Item) -> Result:
        text = item.text.decode()
        return Result([Outcome(text[: len(text) - int(self.options.get("drop", 0))])], "", 6, 3, 12, 0.0)


class Picky(System):
    """Serves no document whose number is even."""

    def run(self, item: Item) -> Result:
        return Result([Outcome("")], "", 6) if item.subset == "odd" else Result(refused="is even")


class Crash(System):
    """Dies at the third item, unless the file named by `unless` exists; notes every item it serves there."""

    def run(self, item: Item) -> Result:
        path = Path(self.options["unless"])
        if item.id == "i02" and not path.exists():
            path.write_text("")
            raise RuntimeError("killed")
        with path.with_suffix(".log").open("a") as stream:
            stream.write(item.id + "\n")
        return Result([Outcome(item.text.decode())], "", 6, 6, 12, 0.0)


def install() -> None:
    """Put the task and the systems into the registries."""
    sys.modules["toy"] = sys.modules[__name__]
    registry.TASKS["digits"] = "toy:Digits"
    for name in ("keep", "picky", "crash"):
        registry.CODEC_SYSTEMS[name] = f"toy:{name.capitalize()}"


if __name__ == "__main__":
    install()
    from eval.run import main

    sys.exit(main())
