"""The default LLM's whole vocabulary as glyph images."""

from __future__ import annotations

import numpy as np
import pytest

from vtc.glyphs.atlas import Atlas
from vtc.glyphs.lookup import CellIndex
from vtc.llm.vocabulary import Vocabulary
from vtc.records.paths import cache_dir


def test_every_token_has_an_image_of_its_own(atlas: Atlas) -> None:
    if not (cache_dir() / "llm" / "smollm2-135m" / "tokenizer.json").exists():
        pytest.skip("the default LLM has not been fetched")
    tokens = Vocabulary.load("smollm2-135m").token_bytes
    images = atlas.draw_tokens(tokens)
    assert len({image.tobytes() for image in images}) == len(tokens) == 49152
    assert images.any(axis=1).all()
    assert (CellIndex(images).ids(images) == np.arange(len(tokens))).all()
