"""The shipped unigram prior: it belongs to the default vocabulary, is a distribution, and knows English."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from vtc.codecs import prior
from vtc.codecs.prior import KIND, STEP, load_prior, prior_path
from vtc.llm.vocabulary import Vocabulary
from vtc.records.artefact import load_artefact, save_artefact
from vtc.records.errors import UsageError, VtcError


def test_the_shipped_prior_belongs_to_the_default_vocabulary(vocabulary: Vocabulary) -> None:
    table = SimpleNamespace(name="smollm2-135m", vocabulary_hash=vocabulary.hash)
    log_prior, digest = load_prior(table)
    tensors, header = load_artefact(prior_path("smollm2-135m"), KIND)
    assert (log_prior.dtype, log_prior.shape, digest) == (np.float32, (vocabulary.size,), header["sha256"])
    np.testing.assert_allclose(log_prior, -np.log(2) * STEP * tensors["surprisal"].astype(float), rtol=1e-6)
    assert np.exp(log_prior.astype(float)).sum() == pytest.approx(1, abs=0.02)
    often, seldom = (log_prior[vocabulary.encode(text)].mean() for text in (" the of and to", " xylophone Zugzwang"))
    assert often > seldom + 3


def test_names_become_file_names() -> None:
    assert prior_path("owner/model").name == "prior-owner--model.safetensors"


def test_no_prior_or_one_of_another_vocabulary_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prior, "prior_path", lambda name: tmp_path / "p.safetensors")
    table = SimpleNamespace(name="mine", vocabulary_hash="a" * 64)
    with pytest.raises(UsageError, match="none ships for mine; build one with: python -m codebooks.prior --llm mine"):
        load_prior(table)
    save_artefact(tmp_path / "p.safetensors", KIND, {"surprisal": np.zeros(3, np.uint8)}, {"vocabulary": "b" * 64})
    with pytest.raises(VtcError, match="prior of another vocabulary than mine; build it again"):
        load_prior(table)
    (tmp_path / "p.safetensors").write_bytes(b"x" * 100)
    with pytest.raises(VtcError, match="not a vtc unigram prior or damaged"):
        load_prior(table)
