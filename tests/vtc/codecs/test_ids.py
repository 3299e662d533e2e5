"""The raw-ids codec: what it stores is what numpy says, and damage never raises."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from vtc.codecs.base import CodedPage
from vtc.codecs.ids import IdsCodec
from vtc.records.errors import UsageError


def table(symbols: int) -> SimpleNamespace:
    return SimpleNamespace(features=np.zeros((symbols, 1), np.float32))


@pytest.mark.parametrize(("symbols", "storage", "itemsize"), [(65536, "uint16", 2), (65537, "uint32", 4)])
def test_stores_little_endian_ids_in_the_smaller_type_that_holds_them(
    symbols: int, storage: str, itemsize: int
) -> None:
    codec = IdsCodec(table(symbols))
    pages = [np.array([0, 1, 258, symbols - 1], np.int32), np.array([7], np.int32)]
    coded = codec.encode(pages)
    assert (codec.config(), codec.latent_bytes) == ({"storage": storage}, itemsize)
    assert coded[0].latents.shape == (4, itemsize)
    assert coded[0].latents.tobytes() == b"".join(int(i).to_bytes(itemsize, "little") for i in pages[0])
    again = IdsCodec(table(symbols), **codec.config()).decode(coded)
    for page, decoded in zip(pages, again, strict=True):
        assert decoded.exact and decoded.ids.dtype == np.int32
        np.testing.assert_array_equal(decoded.ids, page)


def test_a_damaged_page_is_a_guess_within_the_vocabulary() -> None:
    codec = IdsCodec(table(300))
    (coded,) = codec.encode([np.arange(10, dtype=np.int32)])
    latents = coded.latents.copy()
    latents[3] = 255
    (decoded,) = codec.decode([CodedPage(coded.symbols, coded.checksum, latents, coded.side)])
    assert not decoded.exact and not decoded.confidence.any()
    assert decoded.ids.tolist() == [0, 1, 2, 299, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(("symbols", "storage"), [(300, "int4"), (70000, "uint16")])
def test_refuses_a_storage_that_cannot_hold_ids(symbols: int, storage: str) -> None:
    with pytest.raises(UsageError, match=f"--storage {storage}"):
        IdsCodec(table(symbols), storage=storage)
