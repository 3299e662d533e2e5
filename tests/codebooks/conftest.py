"""A small atlas, so that tables are built in milliseconds and without fonts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vtc.glyphs.atlas import KIND, VERSION, Atlas
from vtc.glyphs.boxes import DIGITS
from vtc.records.artefact import save_artefact


@pytest.fixture(scope="session")
def atlas_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Random bitmaps for printed ASCII in cells of 16 x 64 px; boxes for the rest."""
    path = tmp_path_factory.mktemp("artefacts") / "atlas-default.safetensors"
    codepoints = np.arange(32, 127, dtype=np.uint32)
    slots = np.random.default_rng(1).integers(0, 2, (len(codepoints), 16 * 8), dtype=np.uint8)
    slots[:, 0] = 0  # the outline of a box begins with ink
    tensors = {
        "codepoints": codepoints,
        "widths": np.ones(len(codepoints), np.uint8),
        "slots": np.packbits(slots, axis=1),
        "digits": DIGITS.astype(np.uint8),
    }
    style = {"cell_height": 16, "unit": 8, "cell_width": 64}
    save_artefact(path, KIND, tensors, {"version": VERSION, "style": style})
    return path


@pytest.fixture(scope="session")
def atlas(atlas_path: Path) -> Atlas:
    return Atlas.load(atlas_path)
