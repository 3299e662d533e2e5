"""Train what reader kv needs for `--fast`: a map from a model's hidden states to the scores of its key/value entries.

    accelerate launch -m train.scorer --config train/configs/scorer.yaml
    accelerate launch -m train.scorer --config train/configs/scorer.yaml llm=DIR run=runs/scorer-mine

Reads pages of CPython's help topics and modules as the reader does without `--fast`, fits the map to what the second
pass showed, and says how well the scores agree on pages of texts held out. Out comes `scorer-LLM.safetensors` among the
built artefacts, or at `out`, and the run's folder. Processes share the pages.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from vtc.records.config import load_config
from vtc.records.errors import UsageError, VtcError

if TYPE_CHECKING:
    import numpy as np
    import torch
    from accelerate import Accelerator

    from vtc.llm.frozen import FrozenLM
    from vtc.readers.kv.surrogate import Surrogate


@dataclass(frozen=True)
class Config:
    """Settings of a run."""

    llm: str = "smollm2-135m"
    """The frozen LLM: the default's name, a folder or a hub id."""
    run: Path = Path("runs/scorer")
    """The run's folder."""
    out: Path | None = None
    """The artefact, where it is not to be where the reader looks for it."""
    pages: int = 24
    """Pages to train on."""
    held_out: int = 4
    """Pages of other texts, to see how well it does."""
    tokens: int = 850
    """Length of a page."""
    ridge: float = 0.003
    """Pull of the map towards none, as a share of each feature's variance."""
    seed: int = 0
    """Of the choice of pages."""
    threads: int | None = None
    """Of each process; by default all cores / processes."""

    def __post_init__(self) -> None:
        for name, least in (("pages", 1), ("held_out", 1), ("tokens", 16)):
            if getattr(self, name) < least:
                raise UsageError(f"{name}={getattr(self, name)}: must be at least {least}")
        if not self.ridge > 0:
            raise UsageError(f"ridge={self.ridge}: must be above 0")


class Shown(NamedTuple):
    """What a page shows when it is read twice."""

    hidden: list[torch.Tensor]
    """Of each layer what its attention reads, [n, D]."""
    first: torch.Tensor
    """[layers, KV, n], losses by the first pass."""
    second: torch.Tensor
    """The same by the second."""


def shown(llm: FrozenLM, pages: Sequence[np.ndarray], label: str, progress: bool) -> Iterator[Shown]:
    """Read pages, int32 [n] each, after the start of a text."""
    import numpy as np

    from vtc.readers.kv.compact import opened, watched
    from vtc.readers.kv.surrogate import inputs, lost
    from vtc.records.progress import bar

    start = opened(llm, np.array([llm.start], np.int32))
    for ids in bar(pages, progress, unit=label):
        with inputs(llm.model) as hidden:
            seen = watched(llm, start, ids)
        yield Shown(hidden, *(lost(seen.layers, seen.weights, kind) for kind in (0, 1)))


def trained(llm: FrozenLM, pages: Sequence[np.ndarray], ridge: float, accelerator: Accelerator) -> Surrogate:
    """The map that fits the pages of all processes, of which `pages` are this one's own."""
    from train.moments import Moments
    from vtc.readers.kv.sensitivity import attentions
    from vtc.readers.kv.surrogate import Surrogate, features, logarithm

    config = llm.model.config.get_text_config()
    heads = config.num_key_value_heads
    sums = Moments.none(len(attentions(llm.model)), config.hidden_size + heads + 1, heads)
    for hidden, first, second in shown(llm, pages, "page", accelerator.is_main_process):
        for layer, parts in enumerate(zip(hidden, first, second, strict=True)):
            sums.add(layer, features(parts[0], parts[1]), logarithm(parts[2]).T)
    return Surrogate(sums.reduced(accelerator).solved(ridge).to(llm.device))


def agreement(llm: FrozenLM, pages: Sequence[np.ndarray], found: Surrogate, progress: bool) -> list[dict[str, float]]:
    """How well scores told from the first pass agree with those of both, page by page.

    Returns:
        Rank correlation over all entries of a page (`rank`) and the same of the first pass alone (`rank_first`), the
        share of the best eighth that is the same (`best`, `best_first`), and the mean squared error of the predicted
        logarithm beside its variance over a head's entries (`error`, `variance`).
    """
    from vtc.readers.kv.score import USUAL
    from vtc.readers.kv.surrogate import logarithm

    rows = []
    for hidden, first, second in shown(llm, pages, "held-out page", progress):
        told = found.predicted(first, hidden)
        true, guess = USUAL * first + second, USUAL * first + told
        rows.append(
            {
                "rank": rank_correlation(guess, true),
                "rank_first": rank_correlation(first, true),
                "best": alike(guess, true),
                "best_first": alike(first, true),
                "error": float((logarithm(told) - logarithm(second)).square().mean()),
                "variance": float(logarithm(second).var(-1).mean()),
            }
        )
    return rows


def rank_correlation(a: torch.Tensor, b: torch.Tensor) -> float:
    """Spearman's, over all numbers of two tensors of one shape; ties in the order they stand."""
    import torch

    ranks = torch.stack([part.flatten().argsort().argsort().double() for part in (a, b)])
    return float(torch.corrcoef(ranks)[0, 1])


def alike(a: torch.Tensor, b: torch.Tensor) -> float:
    """Share of the largest eighth of `a` that is also among the largest eighth of `b`."""
    import torch

    most = max(1, a.numel() // 8)
    best = [part.flatten().topk(most).indices for part in (a, b)]
    return float(torch.isin(*best).double().mean())


def execute(config: Config, arguments: Sequence[str] = ()) -> dict[str, float]:
    """Train, write the artefact and the run's folder, and return the means over the pages held out.

    Raises:
        UsageError: the folder holds a finished run, or there are not enough texts.
        VtcError: the model is missing, or a place can not be written.
    """
    import os

    import torch
    from accelerate import Accelerator
    from accelerate.utils import gather_object

    from train import runfolder
    from train.texts import pages
    from vtc.llm.frozen import FrozenLM
    from vtc.readers.kv.surrogate import save, scorer_path

    start = time.perf_counter()
    runfolder.check_unfinished(config.run)
    accelerator = Accelerator(cpu=not torch.cuda.is_available())
    torch.set_num_threads(config.threads or max(1, (os.cpu_count() or 1) // accelerator.num_processes))
    llm = FrozenLM.load(config.llm, accelerator.device)
    train, held_out = pages(llm.vocabulary, config.pages, config.held_out, config.tokens, config.seed)
    main = accelerator.is_main_process
    facts = {"seed": config.seed, "llm": llm.name, "fingerprint": llm.identity, "processes": accelerator.num_processes}
    if main:
        runfolder.begin(config.run, config, "train.scorer", list(arguments), facts)
    own = slice(accelerator.process_index, None, accelerator.num_processes)
    found = trained(llm, train[own], config.ridge, accelerator)
    rows = gather_object(agreement(llm, held_out[own], found, main))
    means = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
    if main:
        path = config.out or scorer_path(llm.name, made=True)
        meta = {"pages": config.pages, "tokens": config.tokens, "ridge": config.ridge, "seed": config.seed}
        digest = save(path, found, llm, meta)
        seconds = round(time.perf_counter() - start, 1)
        metrics = {"held_out": means, "n": len(rows), "artefact": str(path), "sha256": digest, "seconds": seconds}
        runfolder.finish(config.run, metrics)
        print(f"{path}\nrank correlation {means['rank']:.3f}, of the first pass alone {means['rank_first']:.3f}")
    return means


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="train.scorer",
        description="Train what reader kv needs for --fast.",
        epilog="example: accelerate launch -m train.scorer --config train/configs/scorer.yaml pages=20",
    )
    parser.add_argument("--config", type=Path, metavar="YAML", help="settings, for example train/configs/scorer.yaml")
    parser.add_argument("settings", nargs="*", metavar="key=value", help="settings that go before those of the file")
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_intermixed_args(given)
    try:
        execute(load_config(Config, options.config, options.settings), given)
    except VtcError as error:
        print(f"train.scorer: {error}", file=sys.stderr)
        return error.status
    from accelerate import PartialState

    PartialState().destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
