"""Put systems to a task, or a whole suite, and write a run folder.

    python -m eval.run -t needle -r truncate:ratio=8 expand --out runs/needle
    python -m eval.run -t reconstruct -c hard hard:density=64,verify=false zstd pages=4
    python -m eval.run --suite quick
    accelerate launch --config_file eval/launch/two-processes.yaml -m eval.run --suite quick

The controls of a task come along by themselves. A run that was killed goes on where it stopped when the same command is
given again. Prints the table and the folder; see `eval/README.md`.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eval.plan import Part, Plan, load_suite
from eval.registry import CODEC_SYSTEMS, READER_SYSTEMS, TASKS
from vtc.records.errors import UsageError, VtcError

if TYPE_CHECKING:
    from eval.schema import Record


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m eval.run",
        description="Put systems to a task, or a whole suite, and write a run folder.",
        epilog="example: python -m eval.run -t needle -r truncate:ratio=8 expand lengths=[500,1000] "
        f"-- tasks: {', '.join(TASKS)}; codecs: {', '.join(CODEC_SYSTEMS)}; readers: {', '.join(READER_SYSTEMS)}",
    )
    made.add_argument("-t", "--task", metavar="TASK", help="the task; a suite names its own")
    made.add_argument("--suite", metavar="NAME", help="a file of eval/suites, or a YAML file of that form")
    made.add_argument("-c", "--codec", metavar="SPEC", nargs="+", default=[], help="name or name:key=value,key=value")
    made.add_argument("-r", "--reader", metavar="SPEC", nargs="+", default=[], help="the same; name* at all --ratios")
    made.add_argument("--ratios", metavar="R,R", default="", help="position ratios of readers with a star")
    made.add_argument("--llm", metavar="SPEC", help="the frozen LLM (default: smollm2-135m)")
    made.add_argument("--seed", metavar="N", type=int, help="of the tasks and the intervals (default: 0)")
    made.add_argument("--data", metavar="DIR", help="where the evaluation texts lie (default: VTC_DATA)")
    made.add_argument("--threads", metavar="N", type=int, help="of each process (default: all cores / processes)")
    made.add_argument("--out", metavar="DIR", type=Path, help="the run's folder (default: runs/TASK or runs/SUITE)")
    made.add_argument("settings", nargs="*", metavar="key=value", help="settings of the task, such as pages=4")
    return made


def plan_of(options: argparse.Namespace) -> Plan:
    """What the command line asks for.

    Raises:
        UsageError: both or neither of a task and a suite, or a setting that is none.
    """
    from vtc.records.config import parse_overrides

    for systems in (options.codec, options.reader):  # argparse gives them every word that follows
        options.settings += [word for word in systems if re.match(r"[\w.]+=", word)]
        systems[:] = [word for word in systems if not re.match(r"[\w.]+=", word)]
    if bool(options.task) == bool(options.suite):
        raise UsageError("name either a task (-t) or a suite (--suite)")
    if options.suite:
        if options.codec or options.reader or options.settings or options.ratios:
            raise UsageError("a suite names its systems and settings itself; drop -c, -r, --ratios and key=value")
        plan = load_suite(options.suite)
    else:
        try:
            ratios = [float(ratio) for ratio in filter(None, options.ratios.split(","))]
        except ValueError:
            raise UsageError(f"--ratios {options.ratios}: write numbers with commas, such as 4,8,16") from None
        settings = parse_overrides(options.settings)
        plan = Plan([Part(options.task, settings, options.codec, options.reader, ratios)])
    plan.llm = options.llm or plan.llm
    plan.seed = plan.seed if options.seed is None else options.seed
    plan.data = options.data or plan.data
    for part in plan.parts:
        part.settings = {"seed": plan.seed, **part.settings}
        part.build(plan.data)  # unknown names are refused before anything is loaded
        if not part.systems():
            raise UsageError(f"task {part.task!r}: no system; name codecs with -c or readers with -r")
    return plan


def execute(plan: Plan, out: Path, threads: int | None = None) -> list[Record]:
    """Do or finish a run and return its records.

    Raises:
        UsageError: the folder holds another run.
        VtcError: data or a model is missing.
    """
    import torch
    from accelerate import PartialState
    from accelerate.utils import gather_object

    from eval.runfolder import RunFolder, load_records
    from eval.runner import Share, ordered, records_of, run_part
    from eval.systems.base import Bench

    state = PartialState(cpu=not torch.cuda.is_available())
    threads = threads or max(1, (os.cpu_count() or 1) // state.num_processes)
    torch.set_num_threads(threads)
    folder = RunFolder(out)
    with state.main_process_first():
        finished = folder.begin(plan, threads, state.num_processes)
    if finished:
        return load_records(out)
    before = folder.samples()
    done = {(sample.task, sample.system, sample.item) for sample in before}
    state.wait_for_everyone()  # nobody adds before all have read
    bench = Bench(plan.llm, plan.seed, threads)
    share = Share(state.process_index, state.num_processes)
    own = [sample for part in plan.parts for sample in run_part(part, plan, bench, folder, done, share)]
    samples = ordered(plan, [*before, *gather_object(own)])
    records = records_of(plan, samples)
    if state.is_main_process:
        folder.finish(samples, records)
    return records


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see the module's docstring."""
    options = parser().parse_intermixed_args(arguments)
    try:
        plan = plan_of(options)
        out = options.out or Path("runs") / (options.task or Path(options.suite).stem)
        records = execute(plan, out, options.threads)
    except VtcError as error:
        print(f"eval.run: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        print("eval.run: stopped; the same command goes on from here", file=sys.stderr)
        return 130
    import torch
    from accelerate import PartialState

    from eval.show import tables

    state = PartialState(cpu=not torch.cuda.is_available())
    state.print(f"{tables(records)}\n\n{out}")
    state.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
