"""Evaluation texts: Fox pages, random letters and short stories, with what DeepSeek-OCR made of the first two.

They come from the public repository dududuck00/DeepSeekOCR (MIT) as three files of JSON lines. Where they lie:
`--data DIR` of a command, else the environment variable `VTC_DATA`, else `../shared/data` beside the clone.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vtc.records.artefact import explain
from vtc.records.errors import VtcError

DEFAULT_DIR = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"


def data_dir(explicit: str | Path | None = None) -> Path:
    """The directory of the evaluation texts; whether it exists shows when a file is read."""
    return Path(explicit or os.environ.get("VTC_DATA") or DEFAULT_DIR.resolve())


def fox_pages(directory: str | Path | None = None) -> Iterator[dict[str, Any]]:
    """English pages of the Fox benchmark.

    Each has `id`, `text`, `tokens_deepseek` (length under DeepSeek-OCR's tokenizer), `deepseek_ocr` (raw outputs by
    condition: `clean_64`, `clean_100`, `clean_256` from re-rendered pages, `scan_64`, `scan_100`, `scan_256` from the
    original scans; the number is latents per page) and `questions` (multiple choice).

    Raises:
        VtcError: the file is missing or damaged.
    """
    return _rows("fox_en.jsonl.gz", directory)


def random_letters(directory: str | Path | None = None) -> Iterator[dict[str, Any]]:
    """Pages of random letters, which no language prior helps to read: fields as `fox_pages`, conditions `random_64` and
    `random_100`, no questions."""
    return _rows("random_letters.jsonl.gz", directory)


def stories(directory: str | Path | None = None) -> Iterator[dict[str, Any]]:
    """Short stories of about 20,000 characters: `id` and `text`."""
    return _rows("stories.jsonl.gz", directory)


def _rows(name: str, directory: str | Path | None) -> Iterator[dict[str, Any]]:
    path = data_dir(directory) / name
    try:
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            for line in stream:
                yield json.loads(line)
    except FileNotFoundError:
        raise VtcError(
            f"{path}: no such file; it is made from the public repository dududuck00/DeepSeekOCR (MIT): "
            "name its directory with --data or VTC_DATA"
        ) from None
    except (EOFError, ValueError, zlib.error, gzip.BadGzipFile) as error:
        raise VtcError(f"{path}: damaged ({error}); fetch it again") from error
    except OSError as error:
        raise VtcError(explain(error, path)) from error
