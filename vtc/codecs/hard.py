"""The hard codec: symbols are bound by position and summed; soft interference cancellation takes them apart again. No
training.

Verify, then commit: every tile is decoded when it is encoded. One that does not come back tries another prior, then two
tiles of half the length, and at last its ids are kept as they are, so that a document is exact by construction and the
density that it reports is the one that was reached.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch

from vtc.codecs.base import Codec, CodedPage, DecodedPage, page_checksum
from vtc.codecs.binding import BLOCK, Binding, amplitudes
from vtc.codecs.cancellation import cancel
from vtc.codecs.parallel import each
from vtc.codecs.prior import load_prior
from vtc.codecs.search import DenseSearch, PrunedSearch
from vtc.codecs.side import LITERAL, Plan, balanced, require
from vtc.codecs.storage import NOISE, Stored, latent_bytes, pack, unpack
from vtc.glyphs.table import GlyphTable
from vtc.records.errors import UsageError, VtcError

FLAT, PRIOR = 0, 1
POSITIONS = 2048  # longest tile
DENSE = 6144  # alphabets up to this size are weighed whole
MARGIN = 0.9  # smallest confidence that verification accepts: another machine rounds differently
ROUNDS = 60
PER_DIMENSION = {"float32": 0.6, "float16": 0.6, "int8": 0.4, "int6": 0.25, "int4": 0.14, "int3": 0.11}
"""Default symbols per dimension with the page's alphabet: about two thirds of eval/results/density_*.csv."""
DEEPEST = 84  # dB of decay; float32 sums round away what lies further down


@dataclass
class HardCodec(Codec):
    """Fixed binding and soft cancellation; see the module's docstring."""

    name: ClassVar[str] = "hard"
    table: GlyphTable
    """Symbols and their features."""
    width: int = 1280
    """Dimensions of a latent; a multiple of 32."""
    density: int | None = None
    """Symbols per latent that encoding starts from; None: two thirds of what comes back at the first attempt."""
    storage: str = "int8"
    """float32, float16, int8, int6, int4 or int3."""
    alphabet: str = "page"
    """page: only symbols of the page compete (their list is stored); vocabulary: all of the table."""
    prior: str = "auto"
    """none: every symbol is as likely; histogram: the page's own counts (stored; needs the page's alphabet); unigram:
    the shipped table of token frequencies; auto: histogram for the page's alphabet, none for the vocabulary."""
    verify: bool = True
    """Decode while encoding and repair; without it a page can fail at restore."""
    prior_hash: str | None = None
    """Content hash of the unigram prior that a document was made with; filled in by itself."""

    def __post_init__(self) -> None:
        if self.storage not in NOISE:
            raise UsageError(f"--storage {self.storage}: the hard codec stores {', '.join(NOISE)}")
        if self.width < BLOCK or self.width % BLOCK:
            raise UsageError(f"--width {self.width}: choose a multiple of {BLOCK}")
        if self.alphabet not in ("page", "vocabulary"):
            raise UsageError(f"--alphabet {self.alphabet}: choose page or vocabulary")
        if self.prior == "auto":
            self.prior = "histogram" if self.alphabet == "page" else "none"
        if self.prior not in ("none", "histogram", "unigram"):
            raise UsageError(f"--prior {self.prior}: choose auto, none, histogram or unigram")
        if self.alphabet == "vocabulary" and self.prior == "histogram":
            raise UsageError("--prior histogram needs --alphabet page; choose none or unigram")
        if self.density is None:
            share = PER_DIMENSION[self.storage] * (0.25 if self.alphabet == "vocabulary" else 1.0)
            self.density = min(max(1, int(share * self.width)), self.capacity)
        if not 1 <= self.density <= self.capacity:
            raise UsageError(
                f"--density {self.density}: a latent of width {self.width} in {self.storage} holds 1 to "
                f"{self.capacity} symbols; lower --density or raise --width"
            )
        if self.prior == "unigram":
            log_prior, found = load_prior(self.table)
            if self.prior_hash not in (None, found):
                raise VtcError(
                    f"the document's unigram prior {self.prior_hash[:12]} is not the shipped one ({found[:12]}); "
                    "use the vtc that wrote it"
                )
            self._unigram, self.prior_hash = torch.from_numpy(log_prior), found
        self._density = self.density
        rank = min(self.table.features.shape[1], self.width) // BLOCK * BLOCK
        features = torch.from_numpy(self.table.features[:, :rank])
        self._features = torch.nn.functional.normalize(features, dim=1)  # [V, rank]
        self._binding = Binding(self.width, rank, POSITIONS)

    @property
    def capacity(self) -> int:
        """Most symbols that Shannon's formula lets a latent hold at its storage noise; no decoder works beyond it."""
        bits = 0.5 * math.log2(1 + 1 / NOISE[self.storage]) * self.width
        each = math.log2(len(self.table)) if self.alphabet == "vocabulary" else 4.0
        return min(POSITIONS, int(bits / each))

    @property
    def latent_bytes(self) -> int:
        """Stored bytes of one latent."""
        return latent_bytes(self.storage, self.width)

    def config(self) -> dict[str, Any]:
        """Everything but the table."""
        names = ("width", "density", "storage", "alphabet", "prior", "verify", "prior_hash")
        return {name: getattr(self, name) for name in names}

    def encode(self, pages: Sequence[np.ndarray]) -> list[CodedPage]:
        """See `Codec.encode`; pages of int [n]."""
        return each(self._encode, [np.ascontiguousarray(ids, np.int64) for ids in pages])

    def decode(self, pages: Sequence[CodedPage]) -> list[DecodedPage]:
        """See `Codec.decode`."""
        return each(self._decode, pages)

    def _encode(self, ids: np.ndarray) -> CodedPage:
        """Fold, verify, and mend until every tile comes back."""
        model = self._model(ids)
        length = balanced(len(ids), -(-len(ids) // self._density))
        tiles = Tiles(np.cumsum(length) - length, length, np.full(len(length), FLAT if self.prior == "none" else PRIOR))
        done: list[tuple[Tiles, np.ndarray]] = []
        while len(tiles.length):
            literal = tiles.prior == LITERAL
            rows = np.zeros((len(literal), self.latent_bytes), np.uint8)
            rows[~literal] = self._fold(ids, tiles.pick(~literal), model.decay)
            good = literal.copy()
            good[~literal] = self._comes_back(ids, tiles.pick(~literal), rows[~literal], model) if self.verify else True
            done.append((tiles.pick(good), rows[good]))
            tiles = self._mend(tiles.pick(~good))
        tiles = Tiles(*(np.concatenate([getattr(t, name) for t, _ in done]) for name in ("start", "length", "prior")))
        order = np.argsort(tiles.start)
        tiles, rows = tiles.pick(order), np.concatenate([rows for _, rows in done])[order]
        literal = tiles.prior == LITERAL
        literals = ids[tiles.pick(literal).symbols()]
        plan = Plan(tiles.length, tiles.prior, model.decay, model.alphabet, model.counts, literals)
        return CodedPage(len(ids), page_checksum(ids), rows[~literal], plan.pack())

    def _model(self, ids: np.ndarray) -> Model:
        """What a page's decoder is told: alphabet, counts and power decay."""
        alphabet = counts = None
        size = len(self.table)
        if self.alphabet == "page":
            alphabet, counts = np.unique(ids, return_counts=True)
            size = len(alphabet)
        bits = math.log2(max(size, 2))
        load = bits * min(self._density, len(ids)) / self.width  # bits per dimension
        ceiling = -10 * math.log10(NOISE[self.storage]) - 6  # dB; the weakest symbol must stay above the storage noise
        decay = round(min(max(0.0, bits * load - 2), ceiling, DEEPEST))  # found by sweeps over density, see docs/log.md
        return Model(decay, alphabet, counts if self.prior == "histogram" else None)

    def _mend(self, failed: Tiles) -> Tiles:
        """Next attempt for tiles that did not come back: the flat prior, then halves, then the ids themselves."""
        flat = failed.prior == PRIOR
        retry = replace(failed.pick(flat), prior=np.full(int(flat.sum()), FLAT))
        rest = failed.pick(~flat)
        single = rest.pick(rest.length == 1)
        single = replace(single, prior=np.full(len(single.length), LITERAL))
        halves = rest.pick(rest.length > 1)
        left = halves.length // 2
        prior = np.full(len(left), FLAT if self.prior == "none" else PRIOR)
        parts = (
            retry,
            single,
            Tiles(halves.start, left, prior),
            Tiles(halves.start + left, halves.length - left, prior),
        )
        return Tiles(*(np.concatenate([getattr(t, name) for t in parts]) for name in ("start", "length", "prior")))

    def _fold(self, ids: np.ndarray, tiles: Tiles, decay: int) -> np.ndarray:
        """Latents of tiles as stored, uint8 [tiles, latent_bytes]."""
        where, at = (torch.from_numpy(index) for index in tiles.places())
        signed = self._features[torch.from_numpy(ids[tiles.symbols()])] * self._binding.signs()[at]
        signed *= _amplitudes(tiles.length, decay)[where, at][:, None]
        return pack(self._binding.fold(signed, self._binding.rows(where, at), len(tiles.length)).numpy(), self.storage)

    def _comes_back(self, ids: np.ndarray, tiles: Tiles, rows: np.ndarray, model: Model) -> np.ndarray:
        """Whether each tile decodes to its symbols, with confidence to spare: bool [tiles]."""
        found, confidence = self._solve(tiles, rows, model, ROUNDS)
        wrong = (found != ids[tiles.symbols()]) | (confidence < MARGIN)
        return np.bincount(tiles.places()[0], weights=wrong, minlength=len(tiles.length)) == 0

    def _solve(self, tiles: Tiles, rows: np.ndarray, model: Model, rounds: int) -> tuple[np.ndarray, np.ndarray]:
        """Decode tiles: ids int64 and confidence float32, [symbols of the tiles] in their order."""
        ids = np.zeros(int(tiles.length.sum()), np.int64)
        confidence = np.zeros(len(ids), np.float32)
        where = tiles.places()[0]
        stored = unpack(rows, self.storage, self.width)
        for prior in np.unique(tiles.prior):
            chosen = tiles.prior == prior
            part, own, length = Stored(*(a[chosen] for a in stored)), chosen[where], tiles.length[chosen]
            alphabet = None if model.alphabet is None else torch.from_numpy(model.alphabet)
            features = self._features if alphabet is None else self._features[alphabet]
            search = self._search(features, self._log_prior(int(prior), model), int(length.sum()))
            strength = _amplitudes(length, model.decay)
            found = cancel(part, strength, torch.from_numpy(length), self._binding, search, rounds)
            ids[own] = (found.symbols if alphabet is None else alphabet[found.symbols]).numpy()
            confidence[own] = found.confidence.numpy()
        return ids, confidence

    def _search(self, features: torch.Tensor, log_prior: torch.Tensor, rows: int) -> DenseSearch | PrunedSearch:
        """Small alphabets are weighed whole."""
        if len(features) <= DENSE:
            return DenseSearch(features, log_prior)
        return PrunedSearch(features, log_prior, rows)

    def _log_prior(self, prior: int, model: Model) -> torch.Tensor:
        """float32 [M] log-probabilities of the page's symbols."""
        size = len(self.table) if model.alphabet is None else len(model.alphabet)
        if prior == FLAT:
            return torch.zeros(size)
        if model.counts is not None:
            return torch.from_numpy(model.counts).float().log()
        return self._unigram if model.alphabet is None else self._unigram[torch.from_numpy(model.alphabet)]

    def _decode(self, page: CodedPage) -> DecodedPage:
        """See `decode`."""
        try:
            plan = Plan.unpack(page.side, page.symbols, len(self.table))
            known = plan.counts is not None or self.prior == "unigram"  # what a tile with a prior needs
            require(plan.lengths.max() <= POSITIONS and (known or PRIOR not in plan.priors))
        except VtcError:
            return DecodedPage(np.zeros(page.symbols, np.int32), np.zeros(page.symbols, np.float32), False)
        tiles = Tiles(np.cumsum(plan.lengths) - plan.lengths, plan.lengths, plan.priors)
        literal = tiles.prior == LITERAL
        coded = tiles.pick(~literal)
        rows = np.zeros((len(coded.length), self.latent_bytes), np.uint8)
        rows[: len(page.latents)] = page.latents[: len(rows)]
        ids, confidence = np.zeros(page.symbols, np.int64), np.ones(page.symbols, np.float32)
        ids[tiles.pick(literal).symbols()] = plan.literals
        place = coded.symbols()
        ids[place], confidence[place] = self._solve(
            coded, rows, Model(plan.decay, plan.alphabet, plan.counts), 2 * ROUNDS
        )
        return DecodedPage(ids.astype(np.int32), confidence, page_checksum(ids) == page.checksum)


@dataclass(frozen=True)
class Model:
    """What the decoder of a page knows beside the latents; see `Plan`."""

    decay: int
    alphabet: np.ndarray | None
    counts: np.ndarray | None


@dataclass(frozen=True)
class Tiles:
    """Stretches of a page, int64 [tiles] each."""

    start: np.ndarray
    """First symbol."""
    length: np.ndarray
    """Number of symbols."""
    prior: np.ndarray
    """FLAT, PRIOR or LITERAL."""

    def pick(self, chosen: np.ndarray) -> Tiles:
        """Some of them, by mask or index."""
        return Tiles(self.start[chosen], self.length[chosen], self.prior[chosen])

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Of every symbol, tile by tile: which tile, and the position in it; int64 [symbols of the tiles]."""
        tile = np.repeat(np.arange(len(self.length)), self.length)
        return tile, np.arange(len(tile)) - np.repeat(np.cumsum(self.length) - self.length, self.length)

    def symbols(self) -> np.ndarray:
        """Of every symbol, tile by tile: its index on the page; int64 [symbols of the tiles]."""
        tile, position = self.places()
        return self.start[tile] + position


def _amplitudes(lengths: np.ndarray, decay: int) -> torch.Tensor:
    """float32 [tiles, longest]: see `binding.amplitudes`; 0 past a tile's end."""
    out = torch.zeros(len(lengths), int(lengths.max(initial=1)))
    for length in np.unique(lengths):
        out[torch.from_numpy(lengths == length), :length] = amplitudes(int(length), decay)
    return out
