"""The work of a run: items one after another, every system on each, samples kept as they come, metrics at the end.

Processes share the items by their number and meet once, when all are done; which process serves an item changes
nothing. Within a process one item is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eval.bootstrap import estimates
from eval.plan import Part, Plan
from eval.runfolder import RunFolder
from eval.schema import VERSION, Item, Record, Result, Sample
from eval.systems.base import Bench, System, build
from eval.tasks.base import Task
from vtc.metrics import byte_ratio, latent_ratio
from vtc.records.errors import UsageError, VtcError
from vtc.records.progress import bar


@dataclass(frozen=True)
class Share:
    """Which of the items are this process's."""

    process: int = 0
    processes: int = 1

    def mine(self, number: int) -> bool:
        """Whether item `number` is."""
        return number % self.processes == self.process


def run_part(
    part: Part, plan: Plan, bench: Bench, folder: RunFolder, done: set[tuple[str, str, str]], share: Share
) -> list[Sample]:
    """Serve the items of one task that are this process's and not done yet; a system stays loaded for all of them."""
    task = part.build(plan.data)
    systems: dict[str, System | str] = {}
    found: list[Sample] = []
    for number, item in enumerate(bar(task.items(), True, desc=part.task, unit="item")):
        if not share.mine(number):
            continue
        for kind, spec in part.systems():
            if (part.task, spec, item.id) in done:
                continue
            if spec not in systems:
                systems[spec] = start(spec, kind, bench)
            samples = samples_of(task, spec, systems[spec], item)
            folder.add(share.process, samples)
            found += samples
    for system in systems.values():
        if isinstance(system, System):
            system.close()
    return found


def start(spec: str, kind: str, bench: Bench) -> System | str:
    """The system, or why it can not run here: a peer that is not built is a row of the table, not the end of a run.

    Raises:
        UsageError: an unknown name or option.
    """
    try:
        return build(spec, kind, bench)
    except UsageError:
        raise
    except VtcError as error:
        return str(error)


def samples_of(task: Task, spec: str, system: System | str, item: Item) -> list[Sample]:
    """One sample for every probe of an item."""
    result = Result(refused=system) if isinstance(system, str) else system.run(item)
    if not result.refused and len(result.outcomes) != len(item.probes):
        raise VtcError(f"{spec}: gave {len(result.outcomes)} outcomes for {len(item.probes)} probes of item {item.id}")
    found = []
    for number, probe in enumerate(item.probes):
        outcome = None if result.refused else result.outcomes[number]
        found.append(
            Sample(
                task=task.name,
                system=spec,
                item=item.id,
                subset=item.subset,
                probe=probe.name,
                tags={name: str(value) for name, value in probe.tags.items()},
                measures=task.score(item, probe, outcome) if outcome else {},
                reference=reference_of(item, number),
                output=outcome.text if outcome else "",
                refused=result.refused,
                text_bytes=len(item.text),
                text_tokens=result.text_tokens,
                positions=outcome.positions if outcome else None,
                latents=result.latents,
                stored_bytes=result.stored_bytes,
                prepare_seconds=result.prepare_seconds,
                seconds=outcome.seconds if outcome else 0.0,
                prompt=probe.prompt,
            )
        )
    return found


def reference_of(item: Item, number: int) -> str:
    """What a perfect system would have given."""
    probe = item.probes[number]
    if item.mode == "restore":
        return item.text.decode("utf-8", "surrogateescape")
    return probe.choices[0] if probe.choices else probe.answer


def records_of(plan: Plan, samples: Sequence[Sample]) -> list[Record]:
    """A record for every task, subset ("all" first), system, and group of tags."""
    found = []
    for part in plan.parts:
        task = part.build(plan.data)
        rows = [sample for sample in samples if sample.task == part.task]
        for subset, tags, chosen in groups(task, rows):
            by_system: dict[str, list[Sample]] = {}
            for sample in chosen:
                by_system.setdefault(sample.system, []).append(sample)
            controls = {name: by_system.get(name, []) for name in task.controls}
            for _, spec in part.systems():
                if spec in by_system:
                    found.append(record_of(task, subset, tags, spec, by_system[spec], controls, plan))
    return found


def groups(task: Task, rows: Sequence[Sample]) -> Iterator[tuple[str, dict[str, str], list[Sample]]]:
    """All samples, those of each subset where there are several, and those of each value of the task's group tags."""
    yield "all", {}, list(rows)
    subsets = list(dict.fromkeys(sample.subset for sample in rows))
    if len(subsets) > 1:
        for subset in subsets:
            yield subset, {}, [sample for sample in rows if sample.subset == subset]
    for tag in task.groups:
        values = list(dict.fromkeys(sample.tags[tag] for sample in rows if tag in sample.tags))
        if len(values) > 1:
            for value in values:
                yield "all", {tag: value}, [sample for sample in rows if sample.tags.get(tag) == value]


def record_of(
    task: Task,
    subset: str,
    tags: dict[str, str],
    spec: str,
    samples: Sequence[Sample],
    controls: dict[str, list[Sample]],
    plan: Plan,
) -> Record:
    """One row of a table."""
    served = [sample for sample in samples if not sample.refused]
    documents = {sample.item: sample for sample in served}  # facts of a document are the same in all its samples
    refused = {sample.item: sample.refused for sample in samples if sample.refused}
    tokens = sum(sample.text_tokens for sample in documents.values())
    latents = [sample.latents for sample in documents.values() if sample.latents is not None]
    stored = [sample.stored_bytes for sample in documents.values() if sample.stored_bytes is not None]
    seen = [(sample.text_tokens, sample.positions) for sample in served if sample.positions is not None]
    positions = sum(count for _, count in seen)
    return Record(
        version=VERSION,
        task=task.name,
        subset=subset,
        system=spec,
        model=plan.llm,
        tokenizer=plan.llm,
        seed=plan.seed,
        documents=len(documents),
        n=len(served),
        refused=len(refused),
        reason=next(iter(refused.values()), ""),
        position_ratio=sum(text for text, _ in seen) / positions if positions else None,
        latent_ratio=latent_ratio(tokens, sum(latents)) if sum(latents) else None,
        byte_ratio=byte_ratio(sum(s.text_bytes for s in documents.values()), sum(stored)) if sum(stored) else None,
        prepare_seconds=_mean([sample.prepare_seconds for sample in documents.values()]),
        seconds=_mean([sample.seconds for sample in served]),
        metrics=estimates(task.metrics, samples, controls, plan.seed),
        tags=tags,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def ordered(plan: Plan, samples: Sequence[Sample]) -> list[Sample]:
    """Samples in the order of the plan, whichever process made them; a sample that was made twice stands once."""
    place: dict[tuple[str, str], int] = {}
    for part in plan.parts:
        for _, spec in part.systems():
            place[part.task, spec] = len(place)
    kept: dict[Any, Sample] = {}
    for sample in samples:
        kept.setdefault((place[sample.task, sample.system], sample.item, sample.probe), sample)
    return [kept[key] for key in sorted(kept)]
