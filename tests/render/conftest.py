"""The atlas of the default style, built once for all tests of the renderer."""

from __future__ import annotations

from pathlib import Path

import pytest

from render.atlas import make_atlas
from render.fonts import Font, font_chain
from render.style import Style
from vtc.glyphs.atlas import Atlas


@pytest.fixture(scope="session")
def style() -> Style:
    return Style.load("default")


@pytest.fixture(scope="session")
def fonts(style: Style) -> list[Font]:
    return font_chain(style)


@pytest.fixture(scope="session")
def atlas_path(style: Style, fonts: list[Font], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("atlas") / "atlas-default.safetensors"
    make_atlas(style, fonts, path)
    return path


@pytest.fixture(scope="session")
def atlas(atlas_path: Path) -> Atlas:
    return Atlas.load(atlas_path)
