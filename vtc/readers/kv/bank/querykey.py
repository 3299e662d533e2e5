"""Which pages a question's own queries look at: late interaction, as in ColBERT (Khattab and Zaharia 2020, arXiv
2004.12832), with the frozen model's queries and keys for embeddings.

A page scores the mean over the question's tokens of its best key, summed over a few heads. Few heads find things by
what they mean (retrieval heads, Wu et al. 2024, arXiv 2404.15574); most would only add noise, so those that serve are
found on the document itself: they are the ones that find the page that a passage was taken from.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from vtc.llm.frozen import FrozenLM, untouched
from vtc.readers.kv.attention import Observation, attending
from vtc.readers.kv.cache import CompactCache
from vtc.readers.kv.rotation import rotated

HEADS = 4
"""Heads that choose. Of 270, two to six do equally well on the default LLM; from eight on rewording costs pages."""
PROBES = 32
"""Passages, each from a page of its own, that the heads are tried with."""
PROBE_TOKENS = 16

Head = tuple[int, int]
"""A layer and one of its query heads."""


class Keys:
    """All kept keys of a few KV heads, of all pages: what a question is compared with.

    Every page is thought of as standing alone right after the opening.
    """

    def __init__(self, llm: FrozenLM, pages: Sequence[CompactCache], heads: Sequence[Head]) -> None:
        self._llm, self._pages = llm, len(pages)
        self.heads = list(heads)
        self._modules = [layer.self_attn for layer in llm.model.base_model.get_submodule("layers")]
        self._longest = max(page.get_seq_length() for page in pages)
        self._held: dict[Head, tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = {}
        for layer, head in heads:
            place = self._place(layer, head)
            if place not in self._held:
                parts = [page.kept[layer].heads()[place[1]] for page in pages]
                sizes = torch.tensor([len(part[0]) for part in parts])
                owner = torch.repeat_interleave(torch.arange(len(parts)), sizes).to(llm.device)
                self._held[place] = (
                    torch.cat([part[0] for part in parts]),
                    torch.cat([part[2] for part in parts]),
                    owner,
                )

    def scores(self, queries: dict[int, torch.Tensor], start: int) -> torch.Tensor:
        """Best key of each page, mean over the question's tokens: float32 [heads, pages].

        Args:
            queries: by layer, rotated queries [query heads, t, d], the first at position `start`.
        """
        found = []
        for layer, head in self.heads:
            keys, bias, owner = self._held[self._place(layer, head)]
            asked = rotated(self._llm.model, queries[layer][head].float(), self._longest - start, layer)  # [t, d]
            look = (asked @ keys.float().T).mul_(float(self._modules[layer].scaling)).add_(bias.float())  # [t, n]
            best = look.new_full((len(look), self._pages), float("-inf"))
            best.scatter_reduce_(1, owner.expand(len(look), -1), look, "amax")
            found.append(best.mean(0))
        return torch.stack(found)

    def _place(self, layer: int, head: int) -> Head:
        """The KV head that a query head reads."""
        return layer, head // self._modules[layer].num_key_value_groups


@torch.inference_mode()
def queries_of(llm: FrozenLM, sink: CompactCache, ids: np.ndarray, first: int = 0) -> dict[int, torch.Tensor]:
    """Rotated queries of ids[first:] by layer, [query heads, t, d], of ids int32 [n] read right after `sink`."""
    seen = Observation(rows=torch.arange(first, len(ids), device=llm.device))
    with untouched(sink), attending(llm.model, sink, seen):
        llm.prefill(ids, sink)
    return seen.queries


def finders(
    llm: FrozenLM, sink: CompactCache, pages: Sequence[CompactCache], texts: Sequence[bytes], count: int = HEADS
) -> list[Head]:
    """The heads that best find the page a passage was taken from, by mean reciprocal rank over `PROBES` passages.

    No question is needed, and nothing but the document: a passage's words are on its own page, and a head that finds
    them among the kept keys of many pages will find those of a question.
    """
    chosen = np.unique(np.linspace(0, len(pages) - 1, min(PROBES, len(pages))).round().astype(int))
    config = llm.model.config.get_text_config()
    every = [(layer, head) for layer in range(len(sink.kept)) for head in range(config.num_attention_heads)]
    keys = Keys(llm, [pages[number] for number in chosen], every)
    ranks = torch.zeros(len(every), device=llm.device)
    for own, number in enumerate(chosen):
        ids = llm.vocabulary.encode(texts[number].decode(errors="replace"))
        at = max(0, (len(ids) - PROBE_TOKENS) // 2)
        found = keys.scores(queries_of(llm, sink, ids[at : at + PROBE_TOKENS]), sink.get_seq_length())
        ranks += 1 / (1 + (found > found[:, own, None]).sum(1))
    return [every[place] for place in ranks.topk(min(count, len(every))).indices.sort().values.tolist()]
