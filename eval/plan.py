"""What a run does: tasks with their settings, and the systems that each is put to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eval.registry import CODEC_SYSTEMS, READER_SYSTEMS, TASKS
from eval.systems.base import parse_spec
from eval.tasks.base import Task
from vtc.records.config import load_config
from vtc.records.errors import UsageError
from vtc.records.registry import lookup
from vtc.records.suggest import unknown

SUITES = Path(__file__).resolve().parent / "suites"


@dataclass
class Part:
    """One task and its systems."""

    task: str
    settings: dict[str, Any] = field(default_factory=dict)
    """Fields of the task's dataclass."""
    codecs: list[str] = field(default_factory=list)
    readers: list[str] = field(default_factory=list)
    """Systems as `name:key=value,key=value`; the task's controls come along by themselves."""
    ratios: list[float] = field(default_factory=list)
    """Every reader whose name ends in `*` is taken once at each of these ratios."""

    def build(self, data: str | None) -> Task:
        """The task with its settings.

        Raises:
            UsageError: an unknown task or setting.
        """
        overrides = {"data": data, **self.settings} if data else self.settings
        task: Task = load_config(lookup(TASKS, self.task, "task"), settings=overrides)
        return task

    def systems(self) -> list[tuple[str, str]]:
        """Kind ("codec" or "reader") and spec of every system, controls first, each once.

        Raises:
            UsageError: an unknown name.
        """
        controls = lookup(TASKS, self.task, "task").controls
        readers = [*controls, *(spec for reader in self.readers for spec in at_ratios(reader, self.ratios))]
        found = [("codec", spec) for spec in self.codecs] + [("reader", spec) for spec in readers]
        for kind, spec in found:
            registry = CODEC_SYSTEMS if kind == "codec" else READER_SYSTEMS
            if parse_spec(spec)[0] not in registry:
                raise UsageError(unknown(kind, parse_spec(spec)[0], registry))
        return list(dict.fromkeys(found))


@dataclass
class Plan:
    """A whole run; saved as `config.yaml` in its folder."""

    parts: list[Part]
    llm: str = "smollm2-135m"
    seed: int = 0
    data: str | None = None
    """Folder of the evaluation texts."""

    def __post_init__(self) -> None:
        names = [part.task for part in self.parts]
        if not names:
            raise UsageError("there is nothing to run; name a task with -t or a suite with --suite")
        if len(set(names)) < len(names):
            raise UsageError("a task stands twice in the plan; give each a run of its own")


def at_ratios(reader: str, ratios: Sequence[float]) -> list[str]:
    """`truncate*` as `truncate:ratio=4`, `truncate:ratio=8`, ..; other specs as they are.

    Raises:
        UsageError: a star without ratios.
    """
    if not reader.partition(":")[0].endswith("*"):
        return [reader]
    if not ratios:
        raise UsageError(f"{reader!r}: the star wants ratios; give --ratios 4,8,16")
    name, _, rest = reader.partition(":")
    return [f"{name[:-1]}:" + ",".join(filter(None, [f"ratio={ratio:g}", rest])) for ratio in ratios]


def load_suite(name: str) -> Plan:
    """A plan from `eval/suites/NAME.yaml`, or from the YAML file itself.

    Raises:
        UsageError: no such suite.
    """
    path = Path(name) if name.endswith((".yaml", ".yml")) else SUITES / f"{name}.yaml"
    if not path.is_file():
        raise UsageError(unknown("suite", name, sorted(file.stem for file in SUITES.glob("*.yaml"))))
    plan: Plan = load_config(Plan, path)
    return plan
