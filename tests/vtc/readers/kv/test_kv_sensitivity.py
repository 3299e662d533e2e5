"""What a head's error costs, against predictions that are really disturbed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import kl_div

from vtc.llm.frozen import FrozenLM
from vtc.readers.kv import sensitivity as part
from vtc.readers.kv.sensitivity import attentions, measured, root, sensitivity


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VTC_CACHE", str(tmp_path))
    part._known.clear()
    return tmp_path / part.KIND


def test_a_small_error_costs_what_the_fisher_information_says(lm: FrozenLM) -> None:
    """KL divergence of all predictions after an error at one token is e' F e / 2 in the mean over tokens and errors."""
    ids = np.random.default_rng(0).integers(0, 256, 200).astype(np.int32)
    fisher = measured(lm, ids)
    module, size = attentions(lm.model)[-1], 0.02
    d = module.head_dim
    batch = torch.from_numpy(np.concatenate([[lm.start], ids])).long()[None]
    draw = torch.Generator().manual_seed(1)
    ratios = []
    with torch.inference_mode():
        before = lm.model(input_ids=batch).logits[0, :, : lm.vocabulary.size].log_softmax(-1)
        for _ in range(40):
            errors = torch.randn(len(before), d, generator=draw) * size

            def disturb(_: torch.nn.Module, given: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
                moved = given[0].clone()
                moved[0, :, :d] += errors  # noqa: B023  used within the round
                return (moved,)

            hook = module.o_proj.register_forward_pre_hook(disturb)
            after = lm.model(input_ids=batch).logits[0, :, : lm.vocabulary.size].log_softmax(-1)
            hook.remove()
            ratios.append(kl_div(after, before, log_target=True, reduction="batchmean"))
    expected = fisher[-1, 0].trace() * size**2 / 2  # the last layer's errors reach no other token
    assert float(torch.stack(ratios).mean()) == pytest.approx(float(expected), rel=0.25)


def test_it_is_measured_once_and_found_again(lm: FrozenLM, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = lm.fingerprint()
    first = sensitivity(lm)
    monkeypatch.setattr(part, "measured", None)  # would fail if it were called again
    assert sensitivity(lm) is first
    part._known.clear()
    torch.testing.assert_close(sensitivity(lm), first)
    assert [path.stem for path in place.iterdir()] == [before] and lm.fingerprint() == before


def test_a_damaged_file_is_made_anew(lm: FrozenLM, place: Path) -> None:
    first = sensitivity(lm)
    part._known.clear()
    (path,) = place.iterdir()
    path.write_bytes(path.read_bytes()[:-4])
    torch.testing.assert_close(sensitivity(lm), first)


def test_a_root_times_itself_is_the_matrix() -> None:
    square = torch.randn(3, 5, 5, generator=torch.Generator().manual_seed(0))
    matrix = square @ square.transpose(-1, -2)
    found = root(matrix)
    torch.testing.assert_close(found @ found.transpose(-1, -2), matrix, atol=1e-4, rtol=1e-4)
