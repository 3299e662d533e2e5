"""Train one autoencoder from the command line; see the package's docstring."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from eval.baselines.conv1d.settings import Settings
from eval.baselines.conv1d.system import decode, encode
from eval.baselines.conv1d.training import ensure, train
from eval.data import fox_pages, random_letters
from eval.texts import han_pages, hex_pages
from vtc.metrics import char_accuracy
from vtc.records.config import load_config
from vtc.records.errors import VtcError
from vtc.records.paths import artifacts_dir


def accuracies(settings: Settings, data: str | None) -> dict[str, float]:
    """Mean character accuracy on texts that it has not seen; without Fox data only on those that are made.

    Raises:
        VtcError: the network is damaged.
    """
    network = ensure(settings)
    sets = {"random hex": hex_pages(20), "random Han": han_pages(20)}
    try:
        sets["Fox"] = [page["text"] for page in fox_pages(data)]
        sets["random letters"] = [page["text"] for page in random_letters(data)]
    except VtcError as error:
        print(f"eval.baselines.conv1d: {error}", file=sys.stderr)
    found = {}
    for name, pages in sets.items():
        total = 0.0
        for page in pages:
            raw = page.encode()
            restored = decode(network, encode(network, raw, settings.stride))[: len(raw)]
            total += char_accuracy(page, restored.decode("utf-8", "surrogateescape"))
        found[name] = total / len(pages)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see the package's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m eval.baselines.conv1d",
        description="Train the convolutional text autoencoder and say what it restores.",
        epilog="example: python -m eval.baselines.conv1d stride=64 width=576",
    )
    parser.add_argument("settings", nargs="*", metavar="key=value", help="fields of eval.baselines.conv1d.settings")
    parser.add_argument("--data", metavar="DIR", help="where the evaluation texts lie (default: VTC_DATA)")
    options = parser.parse_args(arguments)
    try:
        settings = load_config(Settings, overrides=options.settings)
        path = artifacts_dir() / settings.file
        if not path.is_file():
            start = time.process_time()
            loss = train(settings, path)
            print(f"loss {loss:.4f} nats a byte after {time.process_time() - start:.0f} s of processor time")
        print(path)
        for name, accuracy in accuracies(settings, options.data).items():
            print(f"{name}: char_accuracy {accuracy:.4f}")
    except VtcError as error:
        print(f"eval.baselines.conv1d: {error}", file=sys.stderr)
        return error.status
    return 0


if __name__ == "__main__":
    sys.exit(main())
