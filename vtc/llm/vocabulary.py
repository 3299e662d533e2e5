"""Ids <-> bytes of one tokenizer, from its `tokenizer.json` alone: no torch, no transformers, no weights.

Whatever a text holds, it is encoded as plain characters: no special token is added, and one that is spelled out in the
text (`<|im_end|>`) becomes ordinary tokens. Decoding concatenates the bytes of the tokens and nothing else, so it
never normalises. For byte-level BPE (Radford et al. 2019, GPT-2) the round trip is exact, except for bytes that the
vocabulary lacks, see `missing_bytes`; other tokenizers lose what their normaliser changes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from vtc.llm.sources import locate, name_of
from vtc.llm.spelling import plain, spelling
from vtc.llm.tokenbytes import TokenBytes
from vtc.records.artefact import explain
from vtc.records.errors import VtcError


class Vocabulary:
    """The ids and bytes of one tokenizer.

    Attributes:
        name: what it was loaded as, for messages.
        size: number of ids, including unused ones in between.
        token_bytes: bytes of every id; special tokens as their literal text, unused ids as b"".
        specials: literal text -> id of the tokens that plain text never becomes.
        hash: SHA-256 (hex) over size and token bytes: equal hashes decode alike.
        missing_bytes: the byte values that no token stands for alone. A byte-level tokenizer drops them from the text
            where no longer token covers them (SmolLM2 lacks 21: six control characters, the lead bytes F1 and F2 of the
            unassigned planes 4 to 11, and the bytes that UTF-8 never uses).
    """

    def __init__(self, settings: dict[str, Any], name: str) -> None:
        """Build from the parsed content of a `tokenizer.json`."""
        self.name = name
        self._tokenizer = Tokenizer.from_str(json.dumps(plain(settings)))
        self._tokenizer.encode_special_tokens = True
        added = {i: token.content for i, token in self._tokenizer.get_added_tokens_decoder().items()}
        ids = self._tokenizer.get_vocab(with_added_tokens=True)
        self.size: int = max(ids.values(), default=-1) + 1
        self.specials: dict[str, int] = {text: i for i, text in added.items() if text.strip()}
        self.token_bytes: list[bytes] = [b""] * self.size
        undo = spelling(settings)
        for token, i in ids.items():
            self.token_bytes[i] = token.encode("utf-8") if i in added else undo(token)
        self._bytes = TokenBytes.of(self.token_bytes)
        self.hash: str = self._bytes.hash
        single = {piece for piece in self.token_bytes if len(piece) == 1}
        self.missing_bytes: bytes = bytes(value for value in range(256) if bytes([value]) not in single)

    @classmethod
    def load(cls, spec: str | Path) -> Vocabulary:
        """Load from the default LLM's name, a folder, a hub id, or a `tokenizer.json` file.

        Raises:
            VtcError: there is none, or it cannot be read.
        """
        path = Path(spec) if Path(spec).is_file() else locate(spec, weights=False) / "tokenizer.json"
        try:
            return cls(json.loads(path.read_text(encoding="utf-8")), name_of(spec))
        except OSError as error:
            raise VtcError(f"{explain(error, path)}; save the model's fast tokenizer beside it") from error
        except Exception as error:  # the tokenizers library raises bare Exception
            raise VtcError(f"{path}: not a readable tokenizer ({first_line(error)}); fetch it again") from error

    def encode(self, text: str) -> np.ndarray:
        """Ids of a text, int32 [n]. Never raises: a lone surrogate is encoded as U+FFFD."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Ids of many texts, int32 [n] each, on all cores."""
        encodings = self._tokenizer.encode_batch_fast([utf8(text) for text in texts], add_special_tokens=False)
        return [np.array(encoding.ids, dtype=np.int32) for encoding in encodings]

    @property
    def sizes(self) -> np.ndarray:
        """Bytes of every id, int64 [V]."""
        return self._bytes.lengths

    def decode(self, ids: np.ndarray | Sequence[int]) -> bytes:
        """Concatenated bytes of the tokens.

        Raises:
            VtcError: an id is outside the vocabulary.
        """
        return self._bytes.decode(np.asarray(ids))


def utf8(text: str) -> str:
    """The text with U+FFFD in place of every lone surrogate, which UTF-8 cannot hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def first_line(error: Exception) -> str:
    """The first line of an error's message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
