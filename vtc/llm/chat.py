"""A chat turn as ids, in which the user's text can never open or close a turn.

The template is rendered around placeholders and cut at its own special tokens, which become their ids; only then do the
real texts take the placeholders' places, and every stretch between special tokens is encoded as plain characters. For
texts without special tokens the ids are those of the usual way (render, then tokenize).
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from jinja2 import TemplateError

from vtc.llm.vocabulary import Vocabulary

USER, SYSTEM = "vtcUserText7f3a", "vtcSystemText7f3a"


def chat_ids(renderer: Any, vocabulary: Vocabulary, user: str, system: str | None = None) -> np.ndarray:
    """Ids of a prompt that ends where the assistant's answer begins, int32 [n].

    Args:
        renderer: transformers tokenizer with `apply_chat_template`; without a template the texts stand in paragraphs.
        vocabulary: encodes the plain stretches and knows the special tokens.
        user: the user's message, document included.
        system: system message. None leaves it to the template; where the template has no such role it precedes `user`.
    """
    texts = {USER: user, SYSTEM: system or ""}
    ids = []
    for piece in split_at_specials(render(renderer, system is not None), vocabulary):
        if piece in vocabulary.specials:
            ids.append(np.array([vocabulary.specials[piece]], dtype=np.int32))
        else:
            text = re.sub(f"{USER}|{SYSTEM}", lambda match: texts[match.group()], piece)
            ids.append(vocabulary.encode(text))
    return np.concatenate(ids)


def chat_around(renderer: Any, vocabulary: Vocabulary, before: str, after: str) -> tuple[np.ndarray, np.ndarray]:
    """Ids of a user turn in two parts, int32 each: up to the end of `before`, and from `after` to where the answer
    begins, so that ids of a document can stand between them."""
    opening: list[np.ndarray] = []
    closing: list[np.ndarray] = []
    part = opening
    for piece in split_at_specials(render(renderer, False), vocabulary):
        if piece in vocabulary.specials:
            part.append(np.array([vocabulary.specials[piece]], dtype=np.int32))
            continue
        left, here, right = piece.partition(USER)
        part.append(vocabulary.encode(left + before if here else left))
        if here:
            part = closing
            part.append(vocabulary.encode(after + right))
    return np.concatenate(opening), np.concatenate(closing)


def render(renderer: Any, with_system: bool) -> str:
    """The template's text with placeholders for the messages."""
    joined = f"{SYSTEM}\n\n{USER}" if with_system else USER
    if not getattr(renderer, "chat_template", None):
        return f"{joined}\n\n"
    turns = [{"role": "user", "content": USER}]
    if with_system:
        try:
            return apply(renderer, [{"role": "system", "content": SYSTEM}, *turns])
        except TemplateError:  # the usual answer of a template that knows no system role
            return apply(renderer, [{"role": "user", "content": joined}])
    return apply(renderer, turns)


def apply(renderer: Any, turns: list[dict[str, str]]) -> str:
    """Render messages up to the start of the assistant's answer."""
    return renderer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)


def split_at_specials(text: str, vocabulary: Vocabulary) -> list[str]:
    """Special tokens and the stretches between them, in order, none empty."""
    literals = sorted(vocabulary.specials, key=len, reverse=True)  # so that a token is never cut by a shorter one
    if not literals:
        return [text]
    return [piece for piece in re.split(f"({'|'.join(map(re.escape, literals))})", text) if piece]
