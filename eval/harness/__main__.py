"""Run tasks of lm-evaluation-harness on a frozen LLM that reads through a reader.

    python -m eval.harness --tasks lambada_openai --reader truncate:ratio=8 --limit 100
    python -m eval.harness --tasks my_task --include-path my_tasks --reader expand

Prints the harness's own table, and below it how many positions the contexts took. Its other options are to be had with
its own command line, once the module that registers the model is imported (it has no plug-ins that would do so, and
its default device is cuda:0):

    python -c "import eval.harness.model, lm_eval.__main__ as m; m.cli_evaluate()" run --model vtc \\
        --model_args reader=truncate,ratio=8 --device cpu --tasks lambada_openai
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from eval.registry import ALL_READERS
from vtc.records.errors import UsageError, VtcError

EXTRA = "needs lm-evaluation-harness; install it: pip install 'vtc-llm[lm-eval]'"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m eval.harness",
        description="Run tasks of lm-evaluation-harness on a frozen LLM that reads through a reader.",
        epilog="example: python -m eval.harness --tasks lambada_openai --reader truncate:ratio=8 --limit 100 "
        f"-- readers: {', '.join(ALL_READERS)}",
    )
    made.add_argument("--tasks", metavar="NAME", nargs="+", required=True, help="tasks of the harness, or groups")
    made.add_argument("--reader", metavar="SPEC", default="text", help="name or name:key=value,.. (default: text)")
    made.add_argument("--llm", metavar="SPEC", default="smollm2-135m", help="the frozen LLM (default: smollm2-135m)")
    made.add_argument("--tail", metavar="N", type=int, default=64, help="last tokens of a context that stay plain (64)")
    made.add_argument("--include-path", metavar="DIR", help="folder with tasks of your own, as YAML")
    made.add_argument("--limit", metavar="N", type=int, help="first requests of each task only")
    made.add_argument("--num-fewshot", metavar="K", type=int, help="examples before each question")
    made.add_argument("--json", action="store_true", help="the last line of standard output is one JSON document")
    return made


def evaluate(options: argparse.Namespace) -> dict[str, Any]:
    """The harness's results, with `position_ratio` and the counts behind it in `config`.

    Raises:
        UsageError: an unknown task, reader or option.
        VtcError: the harness is not installed, or a model or a data set can not be loaded.
    """
    try:
        import lm_eval
        from lm_eval.tasks import TaskManager
    except ModuleNotFoundError as error:
        raise VtcError(f"package {error.name!r} is missing; this {EXTRA}") from error
    from eval.harness.model import VtcLM

    manager = TaskManager(include_path=options.include_path)
    for name in options.tasks:
        if not manager.match_tasks([name]):
            near = get_close_matches(name, manager.all_tasks, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "'lm_eval ls tasks' names them"
            raise UsageError(f"unknown task {name!r}; {hint}")
    model = VtcLM(options.llm, options.reader, options.tail)
    names = manager.match_tasks(options.tasks)
    try:
        found: dict[str, Any] = lm_eval.simple_evaluate(
            model, tasks=names, task_manager=manager, limit=options.limit, num_fewshot=options.num_fewshot
        )
    except OSError as error:  # what the datasets library says of data that is not there
        reason = " ".join(str(error).split())
        raise VtcError(f"{', '.join(options.tasks)}: data could not be loaded ({reason}); fetch it first") from error
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see the module's docstring."""
    options = parser().parse_args(arguments)
    try:
        results = evaluate(options)
    except VtcError as error:
        print(f"eval.harness: {error}", file=sys.stderr)
        return error.status
    from lm_eval.utils import handle_non_serializable, make_table

    config = results["config"]
    print(make_table(results))
    if config["positions"]:
        print(
            f"{config['document_tokens']} tokens of documents in {config['positions']:.0f} positions, position_ratio "
            f"{config['position_ratio']:.1f}:1; {config['plain_tokens']} tokens stayed plain"
        )
    else:
        print(f"no context had more than {options.tail + 1} tokens, so that all were read as they are")
    if options.json:
        kept = {"results": results["results"], "config": config, "options": vars(options)}
        print(json.dumps(kept, default=handle_non_serializable))
    return 0


if __name__ == "__main__":
    sys.exit(main())
