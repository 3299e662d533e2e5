"""Build the unigram prior that ships with vtc: how frequent each token of a tokenizer is in English text.

    python -m codebooks.prior [--llm smollm2-135m] [--text FILE ...] [-o OUT]

Without --text the corpus is what every machine with CPython has: the docstrings and comments of its standard library
(PSF licence). The topics of `pydoc` are left out, since they serve as a test document. Out comes one byte per symbol:
-log2 probability in steps of 1/8 bit, in `vtc/data/`.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import sysconfig
import tokenize
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from vtc.codecs.prior import KIND, STEP, prior_path
from vtc.llm.vocabulary import Vocabulary
from vtc.records.artefact import content_hash, explain, save_artefact
from vtc.records.errors import VtcError

RANK_SHARE, RANK_OFFSET = 0.5, 50
"""Half of the mass follows the counts, half falls as 1 / (id + 50): ids of byte-pair encodings are merge ranks, and by
Zipf's law the rank alone says much about frequency, also for scripts that the corpus lacks."""


def library_prose() -> Iterator[str]:
    """Docstrings and comments of the standard library's modules, in path order; no tests, no vendored packages."""
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        if {"site-packages", "test", "tests", "idle_test", "lib2to3", "pydoc_data"} & set(parts):
            continue
        try:
            source = path.read_text(encoding="utf-8")
            yield from prose_of(source)
        except (OSError, UnicodeDecodeError, SyntaxError, tokenize.TokenError):
            continue  # a module that this Python cannot parse holds no prose for us


def prose_of(source: str) -> Iterator[str]:
    """Docstrings of a module, then its comments."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node)
            if text:
                yield text
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("# ")


def count(texts: Iterator[str], vocabulary: Vocabulary) -> np.ndarray:
    """How often each symbol occurs, int64 [V]."""
    counts = np.zeros(vocabulary.size, np.int64)
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == 4096:
            counts += np.bincount(np.concatenate(vocabulary.encode_batch(batch)), minlength=vocabulary.size)
            batch.clear()
    if batch:
        counts += np.bincount(np.concatenate(vocabulary.encode_batch(batch)), minlength=vocabulary.size)
    return counts


def surprisal(counts: np.ndarray) -> np.ndarray:
    """uint8 [V]: -log2 of the smoothed probability in steps of `STEP` bits."""
    rank = 1 / (np.arange(len(counts)) + RANK_OFFSET)
    probability = (1 - RANK_SHARE) * counts / counts.sum() + RANK_SHARE * rank / rank.sum()
    return np.clip(np.rint(-np.log2(probability) / STEP), 0, 255).astype(np.uint8)


def main(argv: list[str] | None = None) -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(
        prog="python -m codebooks.prior", description="Build a unigram prior over a tokenizer."
    )
    parser.add_argument(
        "--llm", default="smollm2-135m", help="default LLM, local folder or hub id (default: %(default)s)"
    )
    parser.add_argument(
        "--text", type=Path, nargs="*", help="UTF-8 text files to count instead of the standard library's prose"
    )
    parser.add_argument("-o", "--output", type=Path, help="file to write (default: in vtc/data)")
    options = parser.parse_args(argv)
    try:
        vocabulary = Vocabulary.load(options.llm)
        texts = (read(path) for path in options.text) if options.text else library_prose()
        counts = count(texts, vocabulary)
        if not counts.sum():
            raise VtcError("no text to count; name files with --text")
        path = options.output or prior_path(vocabulary.name)
        tensors = {"surprisal": surprisal(counts)}
        corpus = (
            [str(p.name) for p in options.text]
            if options.text
            else f"CPython {sys.version.split()[0]} docstrings and comments"
        )
        meta = {"version": 1, "vocabulary": vocabulary.hash, "tokens": int(counts.sum()), "corpus": corpus}
        save_artefact(path, KIND, tensors, meta)
    except VtcError as error:
        print(f"codebooks.prior: {error}", file=sys.stderr)
        return error.status
    print(
        f"{path}: {counts.sum()} tokens counted, {np.count_nonzero(counts)} symbols seen, {content_hash(tensors)[:16]}"
    )
    return 0


def read(path: Path) -> str:
    """A text file as UTF-8."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise VtcError(explain(error, path)) from error


if __name__ == "__main__":
    sys.exit(main())
