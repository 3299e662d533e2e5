"""Tokens of a text as documents count them, so that ratios of baselines and of codecs divide the same number."""

from __future__ import annotations

import io

from vtc.document.paging import iter_pages
from vtc.llm.vocabulary import Vocabulary


def count_tokens(text: bytes, vocabulary: Vocabulary) -> int:
    """Tokens of the text, cut into pages as a document is."""
    return sum(len(page.ids) for page in iter_pages(io.BytesIO(text), vocabulary))
