"""Scores of pages by a question's own queries, and the heads that give them."""

from __future__ import annotations

import numpy as np
import torch

from vtc.llm.frozen import FrozenLM
from vtc.readers.kv.bank.place import without
from vtc.readers.kv.bank.querykey import PROBE_TOKENS, Keys, finders, queries_of
from vtc.readers.kv.cache import CompactCache
from vtc.readers.kv.compact import Recipe, extended, opened
from vtc.readers.kv.rotation import rotated

EVERY = [(layer, head) for layer in range(2) for head in range(4)]


def read(lm: FrozenLM) -> tuple[CompactCache, list[CompactCache], list[bytes]]:
    draw = np.random.default_rng(4)
    texts = [draw.integers(97, 123, size).astype(np.uint8).tobytes() for size in (40, 33, 48)]
    parts = [lm.vocabulary.encode(text.decode()) for text in texts]
    sink = opened(lm, np.array([1, 2], np.int32))
    pages = [without(extended(lm, sink, part, 2, Recipe()), 2) for part in parts]
    return sink, pages, texts


def test_a_page_s_score_is_the_mean_of_its_best_scores(lm: FrozenLM) -> None:
    sink, pages, _ = read(lm)
    asked = np.array([99, 104, 101, 120], np.int32)
    queries = queries_of(lm, sink, asked, 1)
    found = Keys(lm, pages, EVERY).scores(queries, 3)
    # The same queries at the place where a question stands behind the longest page, as the model itself turns them.
    longest = max(page.get_seq_length() for page in pages)
    for row, (layer, head) in enumerate(EVERY):
        module = lm.model.base_model.get_submodule("layers")[layer].self_attn
        for number, page in enumerate(pages):
            keys, _, bias, _ = page.kept[layer].heads()[head // 2]
            look = (
                rotated(lm.model, queries[layer][head], longest - 3, layer) @ keys.float().T * module.scaling
                + bias.float()
            )
            torch.testing.assert_close(found[row, number], look.max(1).values.mean(), atol=1e-4, rtol=1e-4)


def test_heads_that_choose_rank_passages_best(lm: FrozenLM) -> None:
    sink, pages, texts = read(lm)
    chosen = finders(lm, sink, pages, texts, 2)
    keys = Keys(lm, pages, EVERY)
    ranks = []
    for own, text in enumerate(texts):
        ids = lm.vocabulary.encode(text.decode())
        at = (len(ids) - PROBE_TOKENS) // 2
        scores = keys.scores(queries_of(lm, sink, ids[at : at + PROBE_TOKENS]), 2)
        order = scores.argsort(1, descending=True)
        ranks.append(1 / (1 + (order == own).float().argmax(1)))
    quality = dict(zip(EVERY, torch.stack(ranks).sum(0).tolist(), strict=True))
    assert len(chosen) == 2 and chosen == sorted(chosen)
    worst = min(quality[head] for head in chosen)
    assert all(worst >= quality[head] - 1e-6 for head in EVERY if head not in chosen)
