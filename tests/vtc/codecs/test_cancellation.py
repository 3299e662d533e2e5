"""Soft cancellation beside a naive implementation: one tile, one matrix for each position, float64, plain loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vtc.codecs.binding import BLOCK, Binding, amplitudes, block_table
from vtc.codecs.cancellation import DROWNED, Cancelled, cancel
from vtc.codecs.channel import listen
from vtc.codecs.search import SETTLED, DenseSearch
from vtc.codecs.storage import Stored, pack, unpack


class Batch:
    """Random symbols of a random table, folded and stored."""

    def __init__(self, lengths: list[int], width: int, storage: str, decay: float, symbols: int = 200, seed: int = 0):
        random = np.random.default_rng(seed)
        features = random.standard_normal((symbols, 64)).astype(np.float32)
        self.features = torch.from_numpy(features / np.linalg.norm(features, axis=1, keepdims=True))
        self.binding = Binding(width, 64, max(lengths))
        self.lengths = torch.tensor(lengths)
        self.amplitudes = torch.zeros(len(lengths), max(lengths))
        for tile, length in enumerate(lengths):
            self.amplitudes[tile, :length] = amplitudes(length, decay)
        self.symbols = torch.from_numpy(random.integers(0, symbols, sum(lengths)))
        latents = np.zeros((len(lengths), width), np.float32)
        matrices, row = self.matrices(), 0
        for tile, length in enumerate(lengths):
            for position in range(length):
                bound = matrices[position] @ self.features[self.symbols[row]].double().numpy()
                latents[tile] += self.amplitudes[tile, position].item() * bound
                row += 1
        self.stored = unpack(pack(latents, storage), storage, width)

    def matrices(self) -> list[np.ndarray]:
        """The binding of each position as a matrix [width, rank]."""
        table = block_table(self.binding.positions, 64 // BLOCK, self.binding.blocks).numpy()
        out = []
        for position, sign in enumerate(self.binding.signs().numpy()):
            matrix = np.zeros((self.binding.width, 64))
            for coordinate in range(64):
                block, inside = divmod(coordinate, BLOCK)
                matrix[table[position, block] * BLOCK + inside, coordinate] = sign[coordinate]
            out.append(matrix)
        return out

    def run(self, rounds: int = 60, stored: Stored | None = None) -> Cancelled:
        search = DenseSearch(self.features, torch.zeros(len(self.features)))
        return cancel(stored or self.stored, self.amplitudes, self.lengths, self.binding, search, rounds)


def naive(batch: Batch, tile: int, rounds: int, onsager_term: bool = True) -> tuple[list[int], list[float]]:
    """Symbols and confidence of one tile after some rounds, none of which may settle the whole tile."""
    length, width = int(batch.lengths[tile]), batch.binding.width
    matrices, features = batch.matrices(), batch.features.double().numpy()
    amplitude = batch.amplitudes[tile].double().numpy()
    low, high = (torch.from_numpy(part[tile : tile + 1]).double() for part in batch.stored[1:])
    means = [features.mean(0) for _ in range(length)]
    best, confidence, settled = [0] * length, [0.0] * length, [False] * length
    onsager = np.zeros(width)
    for _ in range(rounds):
        prediction, spread = -onsager, 0.0
        for i in range(length):
            prediction = prediction + amplitude[i] * matrices[i] @ means[i]
            spread += 0.0 if settled[i] else amplitude[i] ** 2 * (1 - means[i] @ means[i])
        outside = np.maximum(low.numpy()[0] - prediction, 0) + np.maximum(prediction - high.numpy()[0], 0)
        variance = max(spread / width, (outside**2).mean())
        found = listen(torch.from_numpy(prediction)[None], torch.tensor([variance]).double(), low, high)
        score, precision = found[0].numpy()[0], found[1].item()
        active = [i for i in range(length) if not settled[i] and amplitude[i] ** 2 * precision > DROWNED]
        left = 0.0
        for i in active:
            evidence = matrices[i].T @ score / precision + amplitude[i] * means[i]
            logits = amplitude[i] * precision * features @ evidence
            weights = np.exp(logits - logits.max())
            weights /= weights.sum()
            best[i], confidence[i] = int(weights.argmax()), float(weights.max())
            settled[i] = confidence[i] > 1 - SETTLED
            means[i] = features[best[i]] if settled[i] else weights @ features
            left += amplitude[i] ** 2 * max(1 - means[i] @ means[i], 0)
        onsager = score * left / width if onsager_term else onsager
    return best, confidence


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
@pytest.mark.parametrize(("storage", "decay"), [("float16", 0), ("int4", 0), ("int3", 6)])
def test_rounds_agree_with_the_naive_ones(storage: str, decay: float, rounds: int) -> None:
    batch = Batch([50, 41], 256, storage, decay)
    found, row = batch.run(rounds), 0
    assert (found.rounds, found.explained.any().item()) == (rounds, False)
    for tile, length in enumerate(batch.lengths.tolist()):
        best, confidence = naive(batch, tile, rounds)
        assert found.symbols[row : row + length].tolist() == best
        np.testing.assert_allclose(found.confidence[row : row + length], confidence, atol=2e-3)
        if rounds > 1:  # it is no matter of taste
            without = naive(batch, tile, rounds, onsager_term=False)[1]
            assert abs(np.array(without) - confidence).max() > 0.1
        row += length


@pytest.mark.parametrize(
    ("lengths", "width", "storage", "decay"),
    [
        ([1], 64, "int3", 0),
        ([30] * 4, 256, "float32", 0),
        ([40, 1, 39, 17], 256, "float16", 3),
        ([20, 24], 256, "int4", 0),
        ([15, 12], 256, "int3", 0),
        ([60, 55], 512, "float16", 12),
        ([120], 2048, "int8", 3),
    ],
)
def test_random_symbols_come_back(lengths: list[int], width: int, storage: str, decay: float) -> None:
    batch = Batch(lengths, width, storage, decay)
    found = batch.run()
    assert torch.equal(found.symbols, batch.symbols)
    assert found.explained.all() and (found.confidence == 1).all() and found.rounds < 30


def test_a_falling_power_carries_more_symbols_than_a_flat_one() -> None:
    """What the exponential allocation of Rush, Greig and Venkataramanan (2017) is for."""

    def solved(decay: float) -> int:
        return sum(int(Batch([100], 256, "float16", decay, seed=seed).run().explained.sum()) for seed in range(6))

    assert solved(0) == 0 and solved(30) >= 4


@pytest.mark.parametrize("storage", ["float32", "float16", "int8", "int4"])
def test_a_corrupted_latent_is_not_explained(storage: str) -> None:
    batch = Batch([20, 20, 20], 256, storage, 0)
    values, low, high = (part.copy() for part in batch.stored)
    for part in (values, low, high):
        part[1, 7] += 3.0  # one coordinate of 256
    found = batch.run(stored=Stored(values, low, high))
    assert found.explained.tolist() == [True, False, True]
    assert found.symbols[:20].tolist() == batch.symbols[:20].tolist()
    random = np.random.default_rng(0).standard_normal((3, 256)).astype(np.float32)
    assert not batch.run(stored=unpack(pack(random, storage), storage, 256)).explained.any()


@pytest.mark.parametrize("value", [0.0, 1e30, -65504.0])
def test_senseless_latents_end(value: float) -> None:
    batch = Batch([20], 256, "float16", 0)
    wrong = np.full((1, 256), value, np.float32)
    found = batch.run(stored=Stored(wrong, wrong, wrong))
    assert not found.explained.any() and found.rounds <= 60 and found.symbols.max() < 200


def test_features_that_were_rounded_elsewhere_still_decode() -> None:
    """No answer then falls into all stored intervals; the right one misses them least."""
    for seed in range(10):
        batch = Batch([120], 256, "int8", 36, symbols=50, seed=seed)
        assert batch.run().explained.all()
        noise = np.random.default_rng(seed).standard_normal(batch.features.shape)
        batch.features += 1e-4 * torch.from_numpy(noise).float()
        found = batch.run()
        assert torch.equal(found.symbols, batch.symbols) and not found.explained.any()
