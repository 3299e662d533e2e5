"""Building the unigram prior: which prose is counted, and how counts become surprisal."""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codebooks import prior as builder
from vtc.codecs.prior import KIND, STEP
from vtc.llm.vocabulary import Vocabulary
from vtc.records.artefact import load_artefact

SOURCE = '''"""Module words."""
import os  # why os
x = "no prose here"

class A:
    """Class words."""

    def f(self):
        """Method words,
        on two lines."""
        return "nor here"  ## twice hashed

async def g():
    \'\'\'Coroutine words.\'\'\'
    # last words
'''


def test_prose_is_docstrings_and_comments() -> None:
    found = list(builder.prose_of(SOURCE))
    docstrings = ["Module words.", "Class words.", "Method words,\non two lines.", "Coroutine words."]
    assert sorted(found[:4]) == sorted(docstrings)
    assert found[4:] == ["why os", "twice hashed", "last words"]


def test_library_prose_leaves_out_tests_and_what_it_cannot_parse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builder.sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path)})
    for name, text in {
        "b.py": '"""second"""',
        "a/c.py": '"""first"""',
        "test/d.py": '"""test"""',
        "site-packages/e.py": '"""vendored"""',
        "pydoc_data/topics.py": '"""topics"""',
        "broken.py": '"""never',
        "nul.py": '"""x"""\0',
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "latin.py").write_bytes(b'"""caf\xe9"""')
    assert list(builder.library_prose()) == ["first", "second"]


@given(st.lists(st.integers(0, 1000), min_size=2, max_size=200).filter(any))
def test_surprisal_is_the_formula(counts: list[int]) -> None:
    found = builder.surprisal(np.array(counts))
    zipf = [1 / (i + 50) for i in range(len(counts))]
    for value, seen, rank in zip(found.tolist(), counts, zipf, strict=True):
        probability = 0.5 * seen / sum(counts) + 0.5 * rank / sum(zipf)
        assert abs(value * STEP + math.log2(probability)) <= STEP / 2 + 1e-9
    assert sum(2.0 ** -(found * STEP)) == pytest.approx(1, abs=0.05)


def test_the_rarest_symbol_still_fits_a_byte() -> None:
    counts = np.zeros(1_000_000, np.int64)
    counts[0] = 10**9
    assert builder.surprisal(counts).max() * STEP < 26


@pytest.fixture
def words(byte_level: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Vocabulary:
    vocabulary = byte_level.vocabulary()
    monkeypatch.setattr(builder.Vocabulary, "load", lambda spec: vocabulary)
    return vocabulary


def test_counts_are_those_of_the_tokens(words: Vocabulary) -> None:
    texts = ["the rain", "the wind"] * 3000  # more than one batch
    ids = np.concatenate([words.encode(text) for text in texts])
    np.testing.assert_array_equal(builder.count(iter(texts), words), np.bincount(ids, minlength=words.size))


def test_the_command_counts_files(words: Vocabulary, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_bytes("the rain, the wind \xe9".encode("latin-1"))
    out = tmp_path / "p.safetensors"
    assert builder.main(["--text", str(tmp_path / "a.txt"), "-o", str(out)]) == 0
    tensors, header = load_artefact(out, KIND)
    ids = words.encode("the rain, the wind \ufffd")
    assert (header["vocabulary"], header["tokens"], header["corpus"]) == (words.hash, len(ids), ["a.txt"])
    np.testing.assert_array_equal(tensors["surprisal"], builder.surprisal(np.bincount(ids, minlength=words.size)))
    assert f"{len(ids)} tokens counted" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "message"), [("none.txt", "no such file"), ("empty.txt", "no text to count")])
def test_nothing_to_count_is_an_error(
    words: Vocabulary, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, message: str
) -> None:
    (tmp_path / "empty.txt").touch()
    assert builder.main(["--text", str(tmp_path / name), "-o", str(tmp_path / "p")]) == 1
    assert message in capsys.readouterr().err and not (tmp_path / "p").exists()
