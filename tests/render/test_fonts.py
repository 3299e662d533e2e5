"""Where fonts come from, and what is said when they are missing."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from render.fonts import Font, font_chain
from render.style import FontSpec, Style
from vtc.records.errors import UsageError, VtcError

MISSING = FontSpec("fontpkg-not-there", "fontpkg_not_there", ["a.ttf"], 13, 13)


def test_the_chain_covers_the_scripts_that_must_come_from_fonts(fonts: list[Font]) -> None:
    known = frozenset().union(*(font.codepoints for font in fonts))
    assert set(range(0x21, 0x7F)) <= known
    for low, high, least in ((0x370, 0x400, 120), (0x400, 0x530, 300), (0x3041, 0x3100, 185), (0xAC00, 0xD7A4, 11172),
                             (0x4E00, 0xA000, 20900)):  # fmt: skip
        assert len(known & set(range(low, high))) >= least


def test_descriptions_hold_hash_and_licence(fonts: list[Font]) -> None:
    for font in fonts:
        facts = font.describe()
        assert facts["sha256"] == hashlib.sha256(font.path.read_bytes()).hexdigest()
        assert "SIL Open Font License" in facts["licence"] or font.path.name.startswith("DejaVu")
        assert facts["source"].split()[0] and facts["version"]


def test_a_missing_package_is_one_line_with_the_mend(style: Style) -> None:
    with pytest.raises(VtcError, match=r"fontpkg-not-there is not installed; .*pip install 'vtc-llm\[render\]'"):
        font_chain(replace(style, fonts=[MISSING]))


def test_a_missing_file_names_its_package(style: Style) -> None:
    spec = replace(style.fonts[0], files=["files/Gone.ttf"])
    with pytest.raises(VtcError, match=r"Gone\.ttf: missing from fontpkg-source-code-pro"):
        font_chain(replace(style, fonts=[spec]))


def test_user_fonts_come_first_and_make_packages_optional(
    style: Style, fonts: list[Font], tmp_path: Path, capsys
) -> None:
    shutil.copy(fonts[1].path, tmp_path / "b.ttf")
    shutil.copy(fonts[0].path, tmp_path / "a.ttf")
    (tmp_path / "readme.txt").write_text("no font")
    chain = font_chain(replace(style, fonts=[MISSING, style.fonts[0]]), tmp_path)
    assert [font.path.name for font in chain] == ["a.ttf", "b.ttf", fonts[0].path.name]
    assert [font.source for font in chain[:2]] == ["user", "user"]
    assert "fontpkg-not-there" in capsys.readouterr().err
    assert [font.path.name for font in font_chain(replace(style, fonts=[]), tmp_path / "b.ttf")] == ["b.ttf"]


def test_a_place_without_fonts_is_refused(style: Style, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no font there"):
        font_chain(style, tmp_path)
    with pytest.raises(UsageError, match="no font there"):
        font_chain(style, tmp_path / "absent.ttf")


def test_a_file_that_is_no_font_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.ttf").write_bytes(b"nothing of the kind")
    with pytest.raises(VtcError, match=r"x\.ttf: not a readable font"):
        _ = Font(tmp_path / "x.ttf", 13, 13, {}, "user").codepoints
