"""Fixed signs: bits of SHAKE-256, the same for ever."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from vtc.records.noise import signs


@pytest.mark.parametrize("shape", [(1,), (3, 7), (5, 2, 8)])
def test_signs_are_the_bits_of_the_stream(shape: tuple[int, ...]) -> None:
    found = signs("a label", shape)
    bits = int.from_bytes(hashlib.shake_256(b"vtc a label").digest(100), "big")
    expected = [1.0 if bits >> (799 - i) & 1 else -1.0 for i in range(found.size)]
    assert (found.dtype, found.shape, found.reshape(-1).tolist()) == (np.float32, shape, expected)


def test_signs_never_change() -> None:
    digest = hashlib.sha256(signs("binding signs 1", (2048, 256)).astype(np.int8).tobytes()).hexdigest()
    assert digest == "6836a68aeb174e87bb22a7c6600fe608a53036605d23cf0224d354bdf3ef1de4"


def test_labels_are_independent_and_balanced() -> None:
    one, other = signs("one", (10_000,)), signs("other", (10_000,))
    assert abs(one.mean()) < 0.04 and abs((one * other).mean()) < 0.04  # four standard deviations
