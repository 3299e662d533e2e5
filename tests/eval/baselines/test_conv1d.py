"""The convolutional autoencoder: its network, what it may learn from, and that training is done once."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from eval.baselines.conv1d import Conv1d, corpus, system, training
from eval.baselines.conv1d.network import Autoencoder
from eval.baselines.conv1d.settings import Settings
from eval.schema import Item
from eval.systems.base import Bench, build
from eval.tasks.reconstruct import Reconstruct
from eval.tasks.reconstruct.documents import PYTHON_MODULES
from vtc.metrics import char_accuracy
from vtc.records.artefact import read_header
from vtc.records.errors import UsageError

SMALL = Settings(stride=8, width=32, channels=64, embedding=8, steps=100, batch=8, window=64, noise=0.0, rate=0.01)
SPEC = "conv1d:" + ",".join(f"{key}={value}" for key, value in vars(SMALL).items())


@pytest.fixture
def bench(byte_level: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("VTC_ARTIFACTS", str(tmp_path))
    made = Bench()
    made.__dict__["vocabulary"] = byte_level.vocabulary()
    return made


def untrained(settings: Settings) -> Autoencoder:
    torch.manual_seed(0)
    return Autoencoder(settings).eval().requires_grad_(False)


@given(st.binary(min_size=1, max_size=100))
def test_wide_enough_the_untrained_network_is_the_identity(text: bytes) -> None:
    """The decoder is the encoder's transpose and both are orthogonal; the nearest embedding is then the byte's own."""
    settings = Settings(stride=8, embedding=16, channels=128, width=128)
    network = untrained(settings)
    restored = system.decode(network, system.encode(network, text, settings.stride))
    assert restored == text + bytes(-len(text) % 8)


def test_a_latent_stands_for_its_stride_and_is_float16() -> None:
    for settings in (Settings(stride=4, width=8), Settings(stride=32, width=24)):
        (latents,) = system.encode(untrained(settings), b"x" * 33, settings.stride)
        assert latents.shape == (settings.width, -(-33 // settings.stride))
        assert latents.dtype == torch.float16


def test_long_texts_are_coded_in_pieces_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "CHUNK_BYTES", 64)
    settings = Settings(stride=8, embedding=16, channels=128, width=128)
    network, text = untrained(settings), bytes(range(256))
    stored = system.encode(network, text, settings.stride)
    assert [piece.shape[1] for piece in stored] == [8, 8, 8, 8]
    assert system.decode(network, stored) == text


def test_the_corpus_holds_no_evaluation_text() -> None:
    names = {path.stem for path in corpus.sources()}
    assert len(names) > 50
    assert not names & set(PYTHON_MODULES)
    text = corpus.corpus()
    for item in Reconstruct(sets=("python", "poems", "hex", "identifiers", "repeated")).items():
        assert item.text not in text, item.id


def test_windows_are_of_the_corpus_or_random() -> None:
    torch.manual_seed(0)
    settings = Settings(stride=8, window=30, batch=8, noise=0.25)
    assert settings.window == 32, "whole latents"
    text = bytes(np.random.default_rng(0).integers(0, 256, 5000, np.uint8))
    rows = training.batch(torch.frombuffer(bytearray(text), dtype=torch.uint8), settings)
    assert rows.shape == (8, 32) and rows.min() >= 0 and rows.max() <= 255
    assert [bytes(row.tolist()) in text for row in rows] == [False] * 2 + [True] * 6


def test_training_is_done_once_and_helps(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "corpus", lambda: b"def name(self, value):\n    return value + 1\n" * 200)
    item = Item("i", "s", b"def value(self):\n    return name\n", "restore")
    before = untrained(SMALL)
    guess = system.decode(before, system.encode(before, item.text, SMALL.stride))[: len(item.text)]
    first = build(SPEC, "codec", bench)
    assert isinstance(first, Conv1d)
    result = first.run(item)
    text = result.outcomes[0].text
    assert char_accuracy(item.text.decode(), text) > char_accuracy(item.text.decode(), guess.decode("latin-1")) + 0.4
    latents = -(-len(item.text) // 8)
    assert (result.latents, result.stored_bytes) == (latents, latents * 32 * 2 + 4)
    assert result.text_tokens == len(bench.vocabulary.encode(item.text.decode()))

    (path,) = tmp_path.iterdir()
    header = read_header(path, "conv1d")
    assert header["settings"]["stride"] == 8 and 0 < header["loss"] < 5.6 and len(header["corpus_sha256"]) == 64
    monkeypatch.setattr(training, "train", lambda *_: pytest.fail("it was trained already"))
    assert build(SPEC, "codec", bench).run(item).outcomes[0].text == text


def test_one_seed_one_network(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(training, "corpus", lambda: bytes(range(256)) * 20)
    settings = Settings(**{**vars(SMALL), "steps": 3})
    state = torch.get_rng_state()
    losses = [training.train(settings, tmp_path / name) for name in ("a.safetensors", "b.safetensors")]
    assert losses[0] == losses[1]
    hashes = {read_header(tmp_path / name, "conv1d")["sha256"] for name in ("a.safetensors", "b.safetensors")}
    assert len(hashes) == 1
    assert torch.equal(state, torch.get_rng_state()), "the generator of others is left alone"


def test_every_setting_has_its_own_file() -> None:
    others = [
        Settings(),
        Settings(stride=16),
        Settings(width=64),
        Settings(steps=9),
        Settings(seed=1),
        Settings(noise=0),
    ]
    assert len({settings.file for settings in others}) == len(others)
    assert Settings().file == Settings(stride=32).file


def test_an_empty_text_needs_no_latent(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "ensure", untrained)
    result = build(SPEC, "codec", bench).run(Item("i", "s", b"", "restore"))
    assert (result.latents, result.outcomes[0].text) == (0, "")


def test_impossible_settings_are_refused(bench: Bench) -> None:
    for spec, message in (("stride=12", "power of two"), ("width=0", "width=0"), ("strid=8", "did you mean 'stride'")):
        with pytest.raises(UsageError, match=message):
            build(f"conv1d:{spec}", "codec", bench)
