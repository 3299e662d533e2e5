"""The map for `--fast`: its least squares, its texts, a whole run on a tiny model, alone and in two processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from eval.tasks.filler import documents
from eval.tasks.split import side
from train.moments import Moments
from train.scorer import Config, alike, main, rank_correlation
from train.texts import for_tuning, pages, texts
from vtc.llm.frozen import FrozenLM
from vtc.llm.vocabulary import Vocabulary
from vtc.readers.kv.surrogate import load
from vtc.records.config import load_config
from vtc.records.errors import UsageError, VtcError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("VTC_ARTIFACTS", str(tmp_path / "artifacts"))


def settings(folder: Path, run: Path, **others: object) -> list[str]:
    given = {"llm": folder, "run": run, "out": run / "scorer.safetensors", "pages": 5, "held_out": 2, "tokens": 120}
    return [f"{name}={value}" for name, value in {**given, "threads": 1, **others}.items()]


def test_sums_give_ridge_regression_on_standardised_features() -> None:
    draw = np.random.default_rng(0)
    rows = draw.normal(3, [1, 5, 0.1, 2], (60, 4))
    rows[:, 3] = rows[:, 0] + 0.01 * rows[:, 1]  # nearly one of the others
    targets = rows @ draw.normal(size=(4, 2)) + 7 + draw.normal(size=(60, 2))
    sums = Moments.none(2, 5, 2)
    for part in np.array_split(np.arange(60), 3):
        features = torch.tensor(np.concatenate([rows[part], np.ones((len(part), 1))], 1))
        sums.add(1, features, torch.tensor(targets[part]))
    sums.add(0, torch.eye(5) + torch.eye(5)[-1], torch.ones(5, 2))
    scaled = (rows - rows.mean(0)) / rows.std(0)
    above = np.concatenate([scaled, np.sqrt(60 * 0.01) * np.eye(4)])
    below = np.concatenate([targets - targets.mean(0), np.zeros((4, 2))])
    slope = np.linalg.lstsq(above, below, rcond=None)[0] / rows.std(0)[:, None]  # [4, 2]
    expected = np.concatenate([slope, targets.mean(0)[None] - rows.mean(0) @ slope], 0).T
    np.testing.assert_allclose(sums.solved(0.01)[1].numpy(), expected, rtol=1e-4, atol=1e-4)


def test_agreement_is_spearman_s_and_the_share_of_the_best() -> None:
    a, b = torch.rand(2, 6, 8, generator=torch.Generator().manual_seed(0))
    apart = [int((a < x).sum()) - int((b < y).sum()) for x, y in zip(a.flatten(), b.flatten(), strict=True)]
    assert rank_correlation(a, b) == pytest.approx(1 - 6 * sum(d * d for d in apart) / (48 * (48**2 - 1)))
    best = [{int(i) for i in np.argsort(-part.numpy().ravel())[:6]} for part in (a, b)]
    assert alike(a, b) == len(best[0] & best[1]) / 6 and alike(a, a) == 1


def test_no_text_that_the_ruler_reports_on_is_trained_on() -> None:
    names = [f"manual/{number}" for number in range(500)]
    assert [for_tuning(name) for name in names] == [side(name) == "dev" for name in names]
    trained = {key for key, _ in texts()}
    for domain in ("manual", "code"):
        reported = {f"{domain}/{name}" for name, _ in documents(domain, split="test")}
        assert reported and not reported & trained
        assert {f"{domain}/{name}" for name, _ in documents(domain, split="dev")} <= trained


def test_pages_are_drawn_by_the_seed_and_held_out_by_text(tiny_folder: Path) -> None:
    words = Vocabulary.load(tiny_folder)
    first, again, other = (pages(words, 80, 6, 100, seed) for seed in (0, 0, 1))
    assert all(np.array_equal(*pair) for pair in zip(first[0], again[0], strict=True))
    assert not all(np.array_equal(*pair) for pair in zip(first[0], other[0], strict=True))
    sources = [{key for key, text in texts() if words.decode(ids).decode(errors="replace") in text} for ids in first[1]]
    trained = [words.decode(ids).decode(errors="replace") for ids in first[0]]
    held = {key for found in sources if len(found) == 1 for key in found}
    assert held and not any(page in text for key, text in texts() if key in held for page in trained)
    with pytest.raises(UsageError, match="held_out=9999: there are"):
        pages(words, 1, 9999, 100, 0)


def test_a_run_leaves_maps_that_predict_and_a_folder(
    tiny_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    assert main(settings(tiny_folder, run)) == 0
    assert "rank correlation" in capsys.readouterr().out
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["held_out"]["error"] < metrics["held_out"]["variance"] and metrics["n"] == 2
    assert metrics["held_out"]["rank"] > 0.9
    assert load_config(Config, run / "config.yaml").tokens == 120
    assert json.loads((run / "env.json").read_text())["processes"] == 1
    assert (run / "command.txt").read_text().startswith("python -m train.scorer llm=")
    path = run / "scorer.safetensors"
    tiny = FrozenLM.load(tiny_folder, device="cpu")
    assert load(path, tiny).weight.shape == (2, 2, 32 + 2 + 1)
    other = tmp_path / "other"
    shutil.copytree(tiny_folder, other)
    tensors = load_file(other / "model.safetensors")
    save_file({name: item * 1.01 for name, item in tensors.items()}, other / "model.safetensors", {"format": "pt"})
    with pytest.raises(VtcError, match="was trained on .* and this model is"):
        load(path, FrozenLM.load(other, device="cpu"))
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(VtcError, match="damaged"):
        load(path, tiny)
    assert main(settings(tiny_folder, run)) == 2
    assert "holds a finished run" in capsys.readouterr().err


def test_two_processes_give_the_same_as_one(tiny_folder: Path, tmp_path: Path) -> None:
    """Launched by `accelerate`, by the file that ships."""
    config = str(ROOT / "train" / "launch" / "two-processes.yaml")
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", config, "-m", "train.scorer"]
    arguments = settings(tiny_folder, tmp_path / "two")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    subprocess.run([*launch, *arguments], cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert main(settings(tiny_folder, tmp_path / "one")) == 0
    assert json.loads((tmp_path / "two" / "env.json").read_text())["processes"] == 2
    one, two = (load_file(tmp_path / name / "scorer.safetensors")["weight"].float() for name in ("one", "two"))
    torch.testing.assert_close(one, two, atol=2e-3, rtol=2e-3)
    means = [json.loads((tmp_path / name / "metrics.json").read_text())["held_out"] for name in ("one", "two")]
    assert means[0] == pytest.approx(means[1], rel=1e-3)


def test_settings_that_ship_are_known_and_wrong_ones_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    for path in (ROOT / "train" / "configs").glob("*.yaml"):
        load_config(Config, path)
    assert main(["pages=0"]) == 2
    assert "pages=0: must be at least 1" in capsys.readouterr().err
    assert main(["page=3"]) == 2
    assert "pages" in capsys.readouterr().err
