"""The readers that set the floor: how much they keep, what they keep, and what they are equal to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from eval.baselines.nothing import NothingReader
from eval.baselines.pool import PoolReader, pool
from eval.baselines.spread import SpreadReader, stretches
from eval.baselines.truncate import TruncateReader, budget
from vtc.llm.frozen import FrozenLM
from vtc.readers.memory import MemoryReader
from vtc.readers.source import plain
from vtc.readers.text import TextReader
from vtc.records.errors import UsageError

TEXT = "".join(f"Line {i}: the wolf met lamb {i * 7919 % 100}. é\n" for i in range(9))
KINDS = (TruncateReader, SpreadReader, PoolReader)
QUESTION = "Where is the lamb?"


def prepared(kind: type[MemoryReader], llm: FrozenLM, text: str = TEXT, **options: Any) -> MemoryReader:
    reader = kind(llm, **options)
    reader.prepare(plain(text.encode(), llm)[1], {"text_bytes": len(text.encode())})
    return reader


def held(llm: FrozenLM, reader: MemoryReader) -> list[bytes]:
    """What a reader holds before the question, as the bytes of its cache."""
    cache = reader.context(QUESTION, 8).cache
    return [t.contiguous().numpy().tobytes() for layer in cache.layers for t in (layer.keys, layer.values)]


def held_of_ids(llm: FrozenLM, reader: MemoryReader, ids: np.ndarray) -> list[bytes]:
    """The same of plain tokens."""
    cache = llm.prefill(np.concatenate([reader.around(QUESTION)[0], ids]))
    return [t.contiguous().numpy().tobytes() for layer in cache.layers for t in (layer.keys, layer.values)]


@given(tokens=st.integers(1, 100_000), ratio=st.floats(1, 1000))
def test_a_budget_is_the_share_of_the_tokens_and_never_nothing(tokens: int, ratio: float) -> None:
    assert 1 <= budget(tokens, ratio) <= tokens
    assert budget(tokens, ratio) == 1 or abs(budget(tokens, ratio) - tokens / ratio) <= 0.5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ratio", [1, 2.5, 8, 1000.0])
def test_positions_are_the_budget_and_what_the_cache_grew_by(tiny: FrozenLM, kind: type, ratio: float) -> None:
    reader = prepared(kind, tiny, ratio=ratio)
    expected = max(1, round(len(TEXT.encode()) / ratio))
    for context, before in ((reader.context(QUESTION, 8), len(reader.around("")[0])), (reader.continuation(), 1)):
        assert context.positions == expected == context.cache.get_seq_length() - before


def test_no_context_holds_what_stands_before_the_document_only(tiny: FrozenLM) -> None:
    reader = prepared(NothingReader, tiny)
    assert held(tiny, reader) == held_of_ids(tiny, reader, reader.ids[:0])
    assert held(tiny, reader) == held(tiny, prepared(NothingReader, tiny, "something else"))
    context = reader.context(QUESTION, 8)
    assert (context.positions, context.spans) == (1, [])
    assert reader.continuation().cache.get_seq_length() == 1


@pytest.mark.parametrize(("keep", "part"), [("last", slice(-47, None)), ("first", slice(0, 47))])
def test_truncation_keeps_one_end(tiny: FrozenLM, keep: str, part: slice) -> None:
    text = TEXT.encode()
    reader = prepared(TruncateReader, tiny, ratio=len(text) / 47, keep=keep)
    assert held(tiny, reader) == held_of_ids(tiny, reader, reader.ids[part])
    ((start, stop),) = reader.context(QUESTION, 8).spans
    assert text[start:stop] == text[part]


def test_spread_keeps_its_stretches_in_order(tiny: FrozenLM) -> None:
    text = TEXT.encode()
    reader = prepared(SpreadReader, tiny, ratio=len(text) / 50, stretch=20)
    spans = reader.context(QUESTION, 8).spans
    assert [stop - start for start, stop in spans] == [20, 20, 10]
    assert spans[0][0] == 0 and spans[-1][1] == len(text) and spans == sorted(spans)
    kept = tiny.vocabulary.encode(b"".join(text[a:b] for a, b in spans).decode(errors="surrogateescape"))
    assert len(kept) == 50 and held(tiny, reader) == held_of_ids(tiny, reader, kept)


@given(data=st.data())
def test_stretches(data: st.DataObject) -> None:
    total = data.draw(st.integers(1, 2000))
    count, size = data.draw(st.integers(1, total)), data.draw(st.integers(1, 100))
    found = stretches(total, count, size)
    assert sum(last - first for first, last in found) == count
    assert all(last - first == size for first, last in found[:-1]) and 1 <= found[-1][1] - found[-1][0] <= size
    gaps = [after[0] - before[1] for before, after in zip(found, found[1:], strict=False)]
    assert not gaps or (min(gaps) >= 0 and max(gaps) - min(gaps) <= 1)
    assert found[-1][1] == total and (len(found) == 1 or found[0][0] == 0)


@given(rows=st.integers(1, 60), data=st.data())
def test_pooling_is_the_mean_of_blocks_of_nearly_equal_length(rows: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, rows))
    values = torch.randn(rows, 3, generator=torch.Generator().manual_seed(rows))
    edges = [-(-block * rows // count) for block in range(count + 1)]
    naive = [values[first:last].mean(0) for first, last in zip(edges, edges[1:], strict=False)]
    assert {last - first for first, last in zip(edges, edges[1:], strict=False)} <= {rows // count, -(-rows // count)}
    torch.testing.assert_close(pool(values, count), torch.stack(naive), rtol=1e-5, atol=1e-6)


def test_pooled_vectors_reach_the_model_after_what_stands_before_them(tiny: FrozenLM) -> None:
    reader = prepared(PoolReader, tiny, "ab" * 40, ratio=2)
    rows = tiny.embeddings[torch.from_numpy(np.concatenate([reader.around("")[0], reader.ids[:80]])).long()]
    mean = rows[-80:].reshape(40, 2, -1).mean(1)
    cache = tiny.prefill_vectors(torch.cat([rows[:-80], mean]))
    for layer, expected in zip(reader.context(QUESTION, 8).cache.layers, cache.layers, strict=True):
        torch.testing.assert_close(layer.keys, expected.keys, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(layer.values, expected.values, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", [TEXT, "a", "the wolf " * 20])
def test_at_ratio_one_the_whole_text_is_read(tiny: FrozenLM, kind: type, text: str) -> None:
    whole, reader = prepared(TextReader, tiny, text), prepared(kind, tiny, text, ratio=1)
    choices = [np.arange(first, first + 6) for first in (0, 70, 200)]
    contexts = [each.context(QUESTION, 8) for each in (whole, reader)]
    assert contexts[0].positions == contexts[1].positions
    losses = [tiny.choices_nll(context.prompt, choices, context.cache) for context in contexts]
    for expected, found in zip(*losses, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    assert reader.ask(QUESTION, max_new_tokens=9)["answer"] == whole.ask(QUESTION, max_new_tokens=9)["answer"]


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        *((kind, {"ratio": ratio}, f"ratio={ratio}: must be at least 1") for kind in KINDS for ratio in (0.9, 0, -2.0)),
        (TruncateReader, {"ratio": float("nan")}, "ratio=nan: must be at least 1"),
        (TruncateReader, {"keep": "middle"}, "keep=middle: choose last or first"),
        (SpreadReader, {"stretch": 0}, "stretch=0: must be at least 1"),
    ],
)
def test_options_that_cannot_be(tiny: FrozenLM, kind: type, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        kind(tiny, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_beyond_the_window_is_read_if_its_share_is_not(tiny: FrozenLM, kind: type) -> None:
    text = "the wolf " * 300
    assert prepared(kind, tiny, text, ratio=8).ask(QUESTION, max_new_tokens=4)["positions"] == 338
    with pytest.raises(UsageError, match=r"takes 13\d\d tokens with what stands before it .* tiny is 1200"):
        prepared(kind, tiny, text, ratio=2).ask(QUESTION, max_new_tokens=4)
