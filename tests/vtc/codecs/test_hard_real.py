"""The hard codec on the default LLM's glyph table and real text: the densities that the project promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch

from eval.data import fox_pages, random_letters
from eval.texts import han_pages, hex_pages
from vtc.codecs import hard
from vtc.codecs.hard import HardCodec
from vtc.codecs.search import PrunedSearch
from vtc.glyphs.table import GlyphTable
from vtc.llm.vocabulary import Vocabulary
from vtc.records.errors import VtcError

SOURCES: dict[str, Callable[[int | None], list[str]]] = {
    "fox": lambda count: [page["text"] for page in islice(fox_pages(), count)],
    "random letters": lambda count: [page["text"] for page in islice(random_letters(), count)],
    "han": lambda count: han_pages(count or 20),
    "hex": lambda count: hex_pages(count or 20),
}


def texts(source: str, count: int | None) -> list[str]:
    try:
        return SOURCES[source](count)
    except VtcError as error:
        pytest.skip(str(error))


def check(codec: HardCodec, vocabulary: Vocabulary, pages: list[str]) -> None:
    """All pages come back, byte for byte, at the density that was asked for."""
    ids = [vocabulary.encode(page) for page in pages]
    coded = codec.encode(ids)
    for page, one, decoded, text in zip(ids, coded, codec.decode(coded), pages, strict=True):
        assert decoded.exact and decoded.ids.tolist() == page.tolist()
        assert vocabulary.decode(decoded.ids).decode() == text
        assert len(one.latents) == -(-len(page) // codec.density)


FLAT: dict[str, Any] = {"width": 1280, "storage": "float16", "density": 64, "alphabet": "vocabulary", "prior": "none"}


@pytest.mark.parametrize("source", SOURCES)
def test_density_64_with_a_flat_prior(real_table: GlyphTable, vocabulary: Vocabulary, source: str) -> None:
    check(HardCodec(real_table, **FLAT), vocabulary, texts(source, 2 if source == "fox" else 1))


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_density_64_with_a_flat_prior_on_all_pages(real_table: GlyphTable, vocabulary: Vocabulary, source: str) -> None:
    check(HardCodec(real_table, **FLAT), vocabulary, texts(source, None))


@pytest.mark.parametrize("storage", ["float16", "int4"])
def test_english_at_100_with_a_prior(real_table: GlyphTable, vocabulary: Vocabulary, storage: str) -> None:
    codec = HardCodec(real_table, density=100, alphabet="vocabulary", prior="unigram", storage=storage)
    check(codec, vocabulary, texts("fox", 1))
    assert codec.latent_bytes * 8 / 100 < (52 if storage == "int4" else 205)  # bits a token


@pytest.mark.slow
@pytest.mark.parametrize("storage", ["float16", "int4"])
def test_english_at_100_with_a_prior_on_all_pages(real_table: GlyphTable, vocabulary: Vocabulary, storage: str) -> None:
    codec = HardCodec(real_table, density=100, alphabet="vocabulary", prior="unigram", storage=storage)
    check(codec, vocabulary, texts("fox", None))


def test_the_default_reaches_its_density_in_any_language(real_table: GlyphTable, vocabulary: Vocabulary) -> None:
    codec = HardCodec(real_table)
    for source in SOURCES:
        ids = [vocabulary.encode(text)[:1024] for text in texts(source, 2)]
        coded = codec.encode(ids)
        assert all(page.exact for page in codec.decode(coded))
        assert [len(page.latents) for page in coded] == [-(-len(page) // codec.density) for page in ids]


@pytest.mark.parametrize(("storage", "density"), [("float16", 64), ("int4", 110)])
def test_a_machine_that_rounds_differently_reads_the_same(
    real_table: GlyphTable, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch, storage: str, density: int
) -> None:
    """Searching in float32 where the writer searched in bfloat16; also where the density is more than can be had."""
    ids = [vocabulary.encode(text)[:440] for text in texts("fox", 2)]
    codec = HardCodec(real_table, density=density, alphabet="vocabulary", storage=storage)
    monkeypatch.setattr(hard, "PrunedSearch", partial(PrunedSearch, dtype=torch.bfloat16))
    coded = codec.encode(ids)
    monkeypatch.setattr(hard, "PrunedSearch", partial(PrunedSearch, dtype=torch.float32))
    for page, decoded in zip(ids, codec.decode(coded), strict=True):
        assert decoded.exact and np.array_equal(decoded.ids, page)


@pytest.mark.parametrize("options", [{}, FLAT, {**FLAT, "storage": "int4"}], ids=["page", "float16", "int4"])
def test_a_table_that_another_machine_built_reads_the_same(
    real_table: GlyphTable, vocabulary: Vocabulary, options: dict[str, Any]
) -> None:
    """Tables of one recipe agree up to rounding: here one number in a hundred is a neighbour in float16."""
    random = np.random.default_rng(0)
    stored = real_table.features.astype(np.float16)
    moved = np.where(random.random(stored.shape) < 0.01, np.nextafter(stored, np.float16(1)), stored)
    other = replace(real_table, features=moved.astype(np.float32))
    ids = vocabulary.encode(texts("fox", 1)[0])[:300]
    (decoded,) = HardCodec(other, **options).decode(HardCodec(real_table, **options).encode([ids]))
    assert decoded.exact and np.array_equal(decoded.ids, ids)


def test_every_width_and_storage_has_a_default_density(real_table: GlyphTable) -> None:
    for width in (32, 256, 576, 1280, 2048, 4096):
        for storage in ("float32", "float16", "int8", "int6", "int4", "int3"):
            for alphabet in ("page", "vocabulary"):
                codec = HardCodec(real_table, width=width, storage=storage, alphabet=alphabet)
                assert codec.density is not None and 1 <= codec.density <= codec.capacity
