"""The demo: compress, restore, measure, draw and ask a long document, and write a report about it.

    python -m eval.demo                                         CPython's own `pydoc_data.topics`
    python -m eval.demo notes.txt --question "Who came late?"   a file of yours

Under out/demo/: report.html (one file), report.md, demo.json with every figure, the document, the page image, plots.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from pydoc_data import topics
from typing import Any

import numpy as np

from eval.blocks import write_report
from eval.questions import ANSWER_TOKENS, TOPICS, Answered, Question, ask_all, choose
from eval.story import blocks_of
from vtc import api, imaging, measuring
from vtc.document import Document
from vtc.records.artefact import atomic_write, explain
from vtc.records.errors import UsageError, VerificationError, VtcError
from vtc.records.streams import open_source

OUT = Path("out/demo")
SAMPLE_PAGES = 16
"""Pages of the document on which the curve over densities is measured."""
CURVE: dict[str, list[Any]] = {"density": [64, 128, 256, 342, 512], "storage": ["float16", "int4"]}


@dataclass(frozen=True)
class Plan:
    """What the demo does; the defaults are those of `make demo`."""

    out: Path = OUT
    document: Path | None = None
    """None: CPython's topics."""
    questions: Sequence[Question] = ()
    """Instead of the ones about CPython's topics."""
    artifacts: Path | None = None
    curve: dict[str, list[Any]] | None = None
    """None: `CURVE`."""
    sample_pages: int = SAMPLE_PAGES
    prefill_pages: int = 4
    seed: int = 0


@dataclass(frozen=True)
class Findings:
    """All that the report tells."""

    title: str
    document: Path
    """The text."""
    text_sha256: str
    record: dict[str, Any]
    """The whole document at the default setting, as `vtc.measuring.measure` gives it."""
    curve: list[dict[str, Any]]
    """The first pages at several densities and storages."""
    page_image: str
    """Relative to the report."""
    answered: list[Answered]
    commands: list[str]
    seconds: float


def run(plan: Plan) -> Path:
    """Do all of it, telling on standard output how far it is; returns the path of the HTML report.

    Raises:
        VtcError: a file cannot be read or written, or an artefact is missing; VerificationError: something did not
            come back exactly.
    """
    start = time.perf_counter()
    text, path, title = prepare(plan)
    print(f"{title}: {len(text)} bytes", flush=True)

    step(1, "compress and restore")
    document = plan.out / "document.vtc"
    made = api.compress(path, document, artifacts=plan.artifacts)
    api.restore(document, plan.out / "restored.txt", artifacts=plan.artifacts)
    if (plan.out / "restored.txt").read_bytes() != text:
        raise VerificationError(f"{plan.out / 'restored.txt'}: differs from {path}; please report it")
    print(f"      {made['text_tokens']} tokens in {made['latents']} latents, restored byte for byte", flush=True)
    with Document(document) as opened:
        spans = opened.text_spans

    step(2, "measure the whole document beside the LLM's prefill")
    (record,) = measuring.measure([path], prefill_pages=plan.prefill_pages, seed=plan.seed, artifacts=plan.artifacts)
    measuring.save([record], plan.out / "whole")
    print(
        f"      restored {record['restore_vs_prefill']:.1f} times as fast as the LLM prefills the same text", flush=True
    )

    step(3, f"measure the first {min(plan.sample_pages, len(spans) - 1)} pages at several densities")
    sample = write(plan.out / "sample.txt", text[: int(spans[: plan.sample_pages + 1][-1])])
    curve = measuring.measure([sample], grid=plan.curve or CURVE, with_llm=False, artifacts=plan.artifacts)
    measuring.save(curve, plan.out / "curve")

    step(4, "draw a page and read it back")
    image = draw(plan, text[: int(spans[1])])

    step(5, "ask")
    answered = ask(plan, document, text, spans)

    step(6, "report")
    seconds = time.perf_counter() - start
    commands = commands_of(plan, path, document, sample, [a.question.text for a in answered])
    found = Findings(title, path, made["sha256"], record, curve, image, answered, commands, seconds)
    write(plan.out / "demo.json", (json.dumps(as_json(found), indent=1, ensure_ascii=False) + "\n").encode())
    markdown, page = write_report(plan.out, f"vtc: {title}", blocks_of(found))
    print(f"{seconds:.0f} s; open {page} (or {markdown})", flush=True)
    return page


def step(number: int, what: str) -> None:
    """Say what begins."""
    print(f"[{number}/6] {what}", flush=True)


def prepare(plan: Plan) -> tuple[bytes, Path, str]:
    """The text, its path and a title; makes the folder of results, and puts CPython's topics there."""
    try:
        plan.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VtcError(explain(error, plan.out)) from error
    if plan.document is None:
        text = topics_text()
        title = f"pydoc_data.topics of Python {sys.version_info.major}.{sys.version_info.minor}"
        return text, write(plan.out / "document.txt", text), title
    with open_source(plan.document) as stream:
        text = stream.read()
    if not text:
        raise UsageError(f"{plan.document}: is empty; name a file that holds text")
    return text, plan.document, plan.document.name


def topics_text() -> bytes:
    """All of CPython's built-in help topics, one after the other, a blank line between them."""
    return "\n\n".join(topics.topics.values()).encode()


def write(path: Path, data: bytes) -> Path:
    """Write a file atomically."""
    with atomic_write(path) as stream:
        stream.write(data)
    return path


def draw(plan: Plan, text: bytes) -> str:
    """Draw the first page, read it back, and return its path relative to the report."""
    folder = plan.out / "page"
    for old in folder.glob("page-*.png"):
        old.unlink()  # of the demo before
    imaging.write(text, folder, artifacts=plan.artifacts)
    if imaging.read([folder], artifacts=plan.artifacts) != text:
        raise VerificationError(f"{folder}: the page image does not read back; please report it")
    return "page/page-0001.png"


def ask(plan: Plan, document: Path, text: bytes, spans: np.ndarray) -> list[Answered]:
    """Answers to the questions about this document, if there are any."""
    questions = list(plan.questions)
    if not questions and plan.document is None:
        questions = choose(text.decode(), TOPICS)
    if not questions:
        print(f'      skipped: name one with --question "...", or later: vtc ask {document} "..."', flush=True)
        return []
    answered = ask_all(str(document), text, spans, questions, api.load_llm(api.DEFAULT_LLM))
    for one in answered:
        print(f"      {one.question.text}  {' '.join(one.document['answer'].split())}", flush=True)
    return answered


def commands_of(plan: Plan, path: Path, document: Path, sample: Path, questions: Sequence[str]) -> list[str]:
    """Command lines that do the same."""
    curve = plan.curve or CURVE
    grid = [word for name, values in curve.items() for word in (f"--{name}", ",".join(map(str, values)))]
    out = plan.out
    lines: list[list[object]] = [
        ["compress", path, "-o", document],
        ["restore", document, "-o", out / "restored.txt"],
        ["measure", path, "--prefill-pages", plan.prefill_pages, "--seed", plan.seed, "-o", out / "whole"],
        ["measure", sample, *grid, "--no-llm", "-o", out / "curve"],
        ["pages", document, "-o", out / "pages"],
        ["read", out / "pages", "-o", out / "read.txt"],
        *(["ask", document, question, "--max-tokens", ANSWER_TOKENS] for question in questions),
    ]
    demo = ["python", "-m", "eval.demo", *([str(plan.document)] if plan.document else []), "-o", str(out)]
    demo += [word for question in plan.questions for word in ("--question", question.text)]
    return [shlex.join(demo), *(shlex.join(["vtc", *map(str, line)]) for line in lines)]


def as_json(found: Findings) -> dict[str, Any]:
    """Findings for programs."""
    return {**asdict(found), "document": str(found.document)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m eval.demo",
        description="Compress, restore, measure, draw and ask a long document, and write a report.",
        epilog='example: python -m eval.demo notes.txt --question "Who came late?"',
    )
    parser.add_argument("document", metavar="DOC", nargs="?", type=Path, help="text (default: CPython's help topics)")
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, default=OUT, help="results (default: out/demo)")
    parser.add_argument("--question", metavar="TEXT", action="append", default=[], help="ask this; may be repeated")
    parser.add_argument("--artifacts", metavar="DIR", type=Path, help="glyph tables and priors (default: the cache)")
    parser.add_argument("--seed", type=int, default=0, help="picks the pages that are prefilled (default: 0)")
    options = parser.parse_args(arguments)
    plan = Plan(
        out=options.output,
        document=options.document,
        questions=[Question(text) for text in options.question],
        artifacts=options.artifacts,
        seed=options.seed,
    )
    try:
        run(plan)
    except VtcError as error:
        print(f"eval.demo: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
