"""The frozen LLM against plain transformers on a tiny random model, and the default LLM's own sense."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import pytest
import torch

from vtc.llm import frozen
from vtc.llm.frozen import FrozenLM
from vtc.records.errors import UsageError, VerificationError, VtcError


@pytest.fixture(scope="module")
def tiny(tiny_folder: Path) -> FrozenLM:
    return FrozenLM.load(tiny_folder, device="cpu")


def test_what_is_known_about_the_model(tiny: FrozenLM) -> None:
    assert (tiny.name, tiny.vocabulary.name, tiny.window, tiny.width, tiny.device.type) == (
        "tiny",
        "tiny",
        1200,
        32,
        "cpu",
    )
    assert tiny.embeddings.shape == (258, 32)
    assert torch.equal(tiny.embeddings, tiny.model.model.embed_tokens.weight[:258])
    assert not tiny.model.training
    assert not any(weight.requires_grad for weight in tiny.model.parameters())
    assert tiny.stops == {257}


@pytest.mark.parametrize("count", [2, 512, 513, 1100])
def test_nll_is_the_log_softmax_of_one_whole_pass(tiny: FrozenLM, count: int) -> None:
    ids = np.random.default_rng(count).integers(0, 258, count)
    with torch.inference_mode():
        logits = tiny.model(torch.from_numpy(ids)[None]).logits[0]  # [n, V]
    shares = torch.log_softmax(logits[:-1].double(), dim=-1)
    expected = -shares.gather(1, torch.from_numpy(ids)[1:, None])[:, 0]
    found = tiny.nll(ids)
    assert found.shape == (count,)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found[1:].double(), expected, rtol=1e-4, atol=1e-4)
    assert found[0].item() == pytest.approx(np.log(258))
    for start in {1, 2, count // 2, count - 1, count}:
        torch.testing.assert_close(tiny.nll(ids, start), found[start:], rtol=1e-4, atol=1e-4)


def test_generation_is_that_of_transformers(tiny: FrozenLM) -> None:
    ids = tiny.vocabulary.encode("abcde")
    whole = tiny.model.generate(torch.tensor(ids)[None].long(), max_new_tokens=40, do_sample=False, pad_token_id=0)
    whole = whole[0, len(ids) :].tolist()
    expected = [tiny.vocabulary.token_bytes[i] for i in whole if i < 257]
    assert list(tiny.generate(ids, max_new_tokens=40)) == expected
    assert len(list(tiny.generate(ids, max_new_tokens=3))) == 3


def test_generation_ends_at_a_stop_and_at_the_window(tiny: FrozenLM, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = np.arange(200, dtype=np.int32)
    first = next(tiny.generate(ids))
    monkeypatch.setattr(tiny, "stops", {tiny.vocabulary.token_bytes.index(first)})
    assert list(tiny.generate(ids)) == []
    monkeypatch.setattr(tiny, "stops", set())
    monkeypatch.setattr(tiny, "window", 205)
    assert len(list(tiny.generate(ids))) == 5


def test_prefill_returns_keys_and_values_and_no_logits(tiny: FrozenLM) -> None:
    cache = tiny.prefill(np.arange(100))
    assert cache.get_seq_length() == 100


def test_impossible_lengths_are_one_line(tiny: FrozenLM) -> None:
    with pytest.raises(VtcError, match="1201 tokens exceed the window of tiny .1200."):
        tiny.nll(np.zeros(1201, np.int32))
    with pytest.raises(VtcError, match="nothing to read"):
        tiny.prefill([])


def test_work_leaves_the_weights_as_they_were(tiny: FrozenLM) -> None:
    with tiny.frozen():
        tiny.nll(np.arange(50))
        tiny.prefill(np.arange(50))
        list(tiny.generate(tiny.chat("hello", "system"), 4))


def test_any_changed_weight_is_noticed(tiny_folder: Path) -> None:
    lm = FrozenLM.load(tiny_folder, device="cpu")
    before = lm.fingerprint()
    assert FrozenLM.load(tiny_folder, device="cpu").fingerprint() == before
    for weight in lm.model.parameters():
        with pytest.raises(VerificationError, match="weights of tiny were changed"), lm.frozen():
            weight.view(-1)[-1].add_(1e-3)
        weight.view(-1)[-1].sub_(1e-3)


def test_loading_and_running_is_silent(tiny_folder: Path) -> None:
    code = (
        "import sys; from vtc.llm import FrozenLM; lm = FrozenLM.load(sys.argv[1]); lm.prefill([1, 2]); lm.nll([1, 2]);"
        "list(lm.generate(lm.chat('hello'), 3))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tiny_folder)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_librarys_own_settings_come_back() -> None:
    before = frozen.logging.get_verbosity(), frozen.logging.is_progress_bar_enabled()
    with pytest.raises(KeyError), frozen.quiet():
        raise KeyError
    assert (frozen.logging.get_verbosity(), frozen.logging.is_progress_bar_enabled()) == before


@pytest.mark.parametrize("damage", ["weights cut", "weights missing", "config missing", "config foreign"])
def test_a_damaged_folder_is_one_line(tiny_folder: Path, tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_folder, folder)
    weights, config = folder / "model.safetensors", folder / "config.json"
    if damage == "weights cut":
        weights.write_bytes(weights.read_bytes()[:500])
    elif damage == "weights missing":
        weights.unlink()
    elif damage == "config missing":
        config.unlink()
    else:
        config.write_text('{"model_type": "no-such-type"}')
    with pytest.raises(VtcError, match="not a loadable causal LM") as caught:
        FrozenLM.load(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("device", ["cuda:99", "no-such-device"])
def test_an_unusable_device_is_named(tiny_folder: Path, device: str) -> None:
    with pytest.raises(UsageError, match=device):
        FrozenLM.load(tiny_folder, device=device)


def test_dtype_as_asked(tiny_folder: Path) -> None:
    assert FrozenLM.load(tiny_folder, device="cpu", dtype=torch.bfloat16).embeddings.dtype == torch.bfloat16


def test_the_default_llm_knows_the_capital_of_france(llm: FrozenLM) -> None:
    assert (llm.name, llm.window, llm.width) == ("smollm2-135m", 8192, 576)
    with llm.frozen():
        answer = b"".join(llm.generate(llm.vocabulary.encode("The capital of France is"), 6))
    assert b"Paris" in answer


def test_the_default_llm_predicts_prose(llm: FrozenLM) -> None:
    """Wrong rotary order, norms or merges would put the loss near log(49152) = 10.8 nats a token."""
    text = "The sun rises in the east and sets in the west. It was the best of times, it was the worst of times."
    assert llm.nll(llm.vocabulary.encode(text), start=1).mean().item() < 3.5


@pytest.mark.slow
def test_the_default_llm_finds_needles(llm: FrozenLM) -> None:
    """A 5-digit number between two sentences of 2,000 tokens of prose, at 16 depths; some minutes on two cores."""
    vocabulary, draw = llm.vocabulary, random.Random(5)
    prose = vocabulary.encode(" ".join(" ".join(topics[name] for name in sorted(topics)).split()))[:2000]
    sentences = vocabulary.decode(prose).decode(errors="ignore").split(". ")
    missed = []
    for depth in range(16):
        number, cut = str(draw.randrange(10_000, 100_000)), depth * len(sentences) // 15
        text = ". ".join([*sentences[:cut], f"The magic number is {number}", *sentences[cut:]])
        prompt = llm.chat(f"{text}\n\nWhat is the magic number?")
        answer = b"".join(llm.generate(prompt, 16)).decode(errors="ignore")
        missed += [] if number in answer else [(depth, number, answer)]
    assert len(missed) <= 1, missed
