"""Side information of a page in few bits: its alphabet, its histogram, and how its tiles are cut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vtc.records.errors import VtcError

GROUP = 16  # numbers that share one Rice parameter
PARAMETER_BITS = 4


class SideReader:
    """Takes values off a byte string in the order in which `side` put them there."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self) -> int:
        """One variable-length unsigned integer (LEB128).

        Raises:
            VtcError: the bytes end too soon.
        """
        value, shift = 0, 0
        while True:
            if self.at >= len(self.data) or shift > 56:
                raise VtcError("side information ends too soon")
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def numbers(self, count: int) -> np.ndarray:
        """`count` numbers written by `rice`, int64 [count].

        Raises:
            VtcError: the bytes end too soon or cannot be such numbers.
        """
        bits = np.unpackbits(np.frombuffer(self.data, np.uint8, offset=self.at))
        groups = -(-count // GROUP)
        if count < 0 or groups * PARAMETER_BITS > len(bits):
            raise VtcError("side information ends too soon")
        head = groups * PARAMETER_BITS
        parameter = bits[:head].reshape(groups, PARAMETER_BITS) @ (1 << np.arange(PARAMETER_BITS)[::-1])
        k = np.repeat(parameter, GROUP)[:count].astype(np.int64)
        low_end = head + int(k.sum())
        stops = np.flatnonzero(bits[low_end:] == 0)[:count]
        if len(stops) < count:
            raise VtcError("side information ends too soon")
        quotient = np.diff(stops, prepend=-1) - 1
        low = np.zeros(count, np.int64)
        starts = head + np.cumsum(k) - k
        for bit in range(int(k.max(initial=0))):
            use = bit < k
            low[use] = low[use] << 1 | bits[starts[use] + bit]
        end = low_end + (int(stops[-1]) + 1 if count else 0)
        self.at += -(-end // 8)
        return (quotient << k) + low


def number(value: int) -> bytes:
    """One unsigned integer as LEB128."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def rice(values: np.ndarray) -> bytes:
    """Golomb-Rice code (Rice 1979) of non-negative int [n], with one parameter per group of 16; whole bytes.

    Parameters, low bits and unary quotients lie in three stretches, so that decoding needs no loop over values.
    """
    values = np.asarray(values, np.int64)
    count = len(values)
    groups = -(-count // GROUP)
    padded = np.zeros(groups * GROUP, np.int64)
    padded[:count] = values
    used = np.minimum(GROUP, count - np.arange(groups) * GROUP)
    # Exact cost of every parameter; the first smallest wins.
    cost = np.stack([(padded.reshape(groups, GROUP) >> k).sum(1) + used * (k + 1) for k in range(1 << PARAMETER_BITS)])
    parameter = cost.argmin(0) if groups else np.zeros(0, np.int64)
    k = np.repeat(parameter, GROUP)[:count]
    head = (parameter[:, None] >> np.arange(PARAMETER_BITS)[::-1] & 1).reshape(-1)
    low = np.zeros(int(k.sum()), np.uint8)
    starts = np.cumsum(k) - k
    for bit in range(int(k.max(initial=0))):
        use = bit < k
        low[starts[use] + bit] = values[use] >> (k[use] - 1 - bit) & 1
    quotient = values >> k
    unary = np.ones(int(quotient.sum()) + count, np.uint8)
    unary[np.cumsum(quotient + 1) - 1] = 0
    return np.packbits(np.concatenate([head.astype(np.uint8), low, unary])).tobytes()


LITERAL = 2  # prior number of a tile whose ids are kept as they are


@dataclass(frozen=True)
class Plan:
    """How a page is coded."""

    lengths: np.ndarray
    """int64 [tiles] symbols of each tile, in reading order."""
    priors: np.ndarray
    """int64 [tiles] number of each tile's prior, or `LITERAL`: that tile has no latent."""
    decay: int
    """Fall of power over a tile, dB."""
    alphabet: np.ndarray | None
    """int64 [M] rising ids that occur on the page, or None for the whole vocabulary."""
    counts: np.ndarray | None
    """int64 [M] how often each occurs, or None where no prior needs it."""
    literals: np.ndarray
    """int64: ids of the literal tiles, in reading order."""

    def pack(self) -> bytes:
        """As bytes."""
        tiles, total = len(self.lengths), int(self.lengths.sum())
        regular = (self.priors == self.priors[0]).all() and (self.lengths == balanced(total, tiles)).all()
        flags = int(self.alphabet is not None) | int(self.counts is not None) << 1 | int(not regular) << 2
        out = number(flags) + number(self.decay) + number(tiles)
        if regular:
            out += number(int(self.priors[0]))
        else:
            out += rice(self.priors) + rice(self.lengths)
        if self.alphabet is not None:
            out += number(len(self.alphabet)) + rice(np.diff(self.alphabet, prepend=-1) - 1)
        if self.alphabet is not None and self.counts is not None:
            out += rice(self.counts - 1)
        return out + rice(self.literals)

    @classmethod
    def unpack(cls, data: bytes, symbols: int, vocabulary: int) -> Plan:
        """From bytes, for a page of `symbols` over a vocabulary of that size.

        Raises:
            VtcError: the bytes are no plan of such a page.
        """
        reader = SideReader(data)
        flags, decay, tiles = reader.number(), reader.number(), reader.number()
        require(1 <= tiles <= symbols and decay <= 120)
        if flags & 4:
            priors, lengths = reader.numbers(tiles), reader.numbers(tiles)
        else:
            priors, lengths = np.full(tiles, reader.number()), balanced(symbols, tiles)
        require(lengths.sum() == symbols and lengths.min() >= 1 and priors.max() <= LITERAL)
        alphabet = counts = None
        if flags & 1:
            size = reader.number()
            require(1 <= size <= symbols)
            alphabet = np.cumsum(reader.numbers(size) + 1) - 1
            require(alphabet[-1] < vocabulary)
            counts = reader.numbers(size) + 1 if flags & 2 else None
        literals = reader.numbers(int(lengths[priors == LITERAL].sum()))
        require(literals.max(initial=0) < vocabulary)
        return cls(lengths, priors, decay, alphabet, counts, literals)


def require(fits: bool) -> None:
    """Raise unless the side information fits."""
    if not fits:
        raise VtcError("side information does not fit the page")


def balanced(symbols: int, tiles: int) -> np.ndarray:
    """Lengths of `tiles` tiles that share `symbols` as evenly as can be, the longer first: int64 [tiles]."""
    lengths = np.full(tiles, symbols // tiles, np.int64)
    lengths[: symbols % tiles] += 1
    return lengths
