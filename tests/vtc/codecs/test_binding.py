"""Position binding: isometries, fixed for ever, whose gathering is the transpose of the folding."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import torch

from vtc.codecs.binding import BLOCK, Binding, amplitudes, block_table
from vtc.records.noise import signs

SHAPES = [(64, 64, 9), (256, 64, 40), (1280, 256, 300), (4096, 256, 20)]


def batch(binding: Binding, tiles: int = 3, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of full tiles, and random vectors for them."""
    tile = torch.arange(tiles).repeat_interleave(binding.positions)
    rows = binding.rows(tile, torch.arange(binding.positions).repeat(tiles))
    return rows, torch.randn(len(rows), binding.rank, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("width", "rank", "positions"), SHAPES)
def test_gather_is_the_transpose_of_fold(width: int, rank: int, positions: int) -> None:
    binding = Binding(width, rank, positions)
    rows, vectors = batch(binding)
    latents = torch.randn(3, width, generator=torch.Generator().manual_seed(1))
    folded = binding.fold(vectors, rows, 3)
    assert folded.shape == (3, width)
    left = (folded.double() * latents.double()).sum()
    right = (vectors.double() * binding.gather(latents, rows).double()).sum()
    assert left.item() == pytest.approx(right.item(), rel=1e-4, abs=1e-3)


@pytest.mark.parametrize(("width", "rank", "positions"), SHAPES)
def test_each_position_alone_is_an_isometry(width: int, rank: int, positions: int) -> None:
    """What one symbol writes, alone in its latent, comes back to the bit, and elsewhere the latent is empty."""
    binding = Binding(width, rank, positions)
    rows = binding.rows(torch.arange(positions), torch.arange(positions))  # one tile for each position
    vectors = torch.randn(positions, rank)
    latents = binding.fold(vectors, rows, positions)
    assert torch.equal(binding.gather(latents, rows), vectors)
    assert latents.norm(dim=1).tolist() == pytest.approx(vectors.norm(dim=1).tolist(), rel=1e-5)


def test_fold_agrees_with_a_plain_loop() -> None:
    binding = Binding(256, 64, 7)
    rows, vectors = batch(binding, tiles=2)
    expected = np.zeros((2, 256))
    table = block_table(7, 2, 8)
    for row, vector in enumerate(vectors.numpy()):
        tile, position = divmod(row, 7)
        for part in range(2):
            start = int(table[position, part]) * BLOCK
            expected[tile, start : start + BLOCK] += vector[part * BLOCK : (part + 1) * BLOCK]
    np.testing.assert_allclose(binding.fold(vectors, rows, 2).numpy(), expected, atol=1e-5)


def test_positions_interfere_like_random_vectors_of_the_full_width() -> None:
    binding = Binding(512, 64, 200)
    rows = binding.rows(torch.arange(200), torch.arange(200))
    features = torch.nn.functional.normalize(torch.randn(200, 64, generator=torch.Generator().manual_seed(3)), dim=1)
    bound = binding.fold(features * binding.signs(), rows, 200).double()
    off = (bound @ bound.T)[~torch.eye(200, dtype=torch.bool)]
    assert abs(off.mean().item()) < 0.002
    assert off.square().mean().item() == pytest.approx(1 / 512, rel=0.1)


def test_the_binding_never_changes() -> None:
    """Documents stay readable only as long as these are the same."""
    table = block_table(2048, 8, 40)
    assert table[:2].tolist() == [[21, 11, 20, 16, 34, 35, 2, 23], [25, 32, 33, 27, 35, 23, 34, 37]]
    assert (
        hashlib.sha256(table.numpy().astype("<u2").tobytes()).hexdigest()
        == "59519ee922dd84e6196f0248257bd9001dbbfc76d636e27ccddb194df832c2b8"
    )
    assert torch.equal(Binding(1280, 256, 2048).signs(), torch.from_numpy(signs("binding signs 1", (2048, 256))))


def test_longer_tiles_would_keep_the_places_of_shorter_ones() -> None:
    assert torch.equal(block_table(100, 2, 8), block_table(300, 2, 8)[:100])
    assert torch.equal(Binding(256, 64, 100).signs(), Binding(256, 64, 300).signs()[:100])


def test_blocks_of_a_position_are_distinct_and_evenly_used() -> None:
    table = block_table(2048, 8, 40)
    assert all(len(set(row)) == 8 for row in table.tolist())
    uses = torch.bincount(table.reshape(-1), minlength=40)
    assert uses.min() > 340 and uses.max() < 480  # 410 on average


@pytest.mark.parametrize(("length", "decay"), [(1, 0), (1, 30), (2, 10), (64, 0), (300, 25.5), (2048, 84)])
def test_amplitudes(length: int, decay: float) -> None:
    found = amplitudes(length, decay).double()
    assert (found.shape, found.square().mean().item()) == ((length,), pytest.approx(1, rel=1e-6))
    level = 20 * found.log10()
    assert (level[0] - level[-1]).item() == pytest.approx(decay if length > 1 else 0, abs=1e-4)
    assert np.allclose(np.diff(level.numpy(), 2), 0, atol=1e-4)  # the same fall at every step
