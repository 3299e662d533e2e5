"""A contact sheet of the atlas, to be judged by eye.

    python -m render.sheet -o sheet.png
    python -m render.sheet -o sheet.png --text "Any text, in any script."

One PNG: labelled rows for each script, the marks and boxes of what no font draws, whole cells with tokens too wide for
one line, and characters that are easily confused, enlarged.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from render.command import parser, run
from vtc.glyphs.atlas import Atlas
from vtc.records.artefact import atomic_write

_SCALE = 2  # sheet px per glyph px
_LABEL_SLOTS = 14
_LINE_SLOTS = 80
SECTIONS: tuple[tuple[str, str], ...] = (
    ("ASCII", "".join(map(chr, range(0x21, 0x7F)))),
    ("Latin-1", "".join(map(chr, range(0xA1, 0x100)))),
    ("Latin ext.", "".join(map(chr, range(0x100, 0x180))) + "ƏɐɑɓɔɖəɛɣɪŋɲʃʊʒʔẠẬỆỘỰẞ"),
    ("Greek", "".join(chr(c) for c in (*range(0x391, 0x3A2), *range(0x3A3, 0x3CF))) + "ἀἂἆᾳῆῷ"),
    ("Cyrillic", "".join(map(chr, range(0x410, 0x460))) + "ҐґҒғҚқҢңҰұӘәӨө"),
    (
        "Kana",
        "あいうえおかがきぎくぐけげこごさざしじすずぱばはゃゅょんアイウエオカガキギクグケゲツヅッシンソノメー、。「」ｱｲｳ",
    ),
    ("Hangul", "가각간갇갈감갑값갓강나다라마바사아자차카타파하한글국어뷁쀍힣ㄱㄴㅏㅑ"),
    ("Han", "天地玄黃宇宙洪荒日月盈昃辰宿列張寒來暑往秋收冬藏龍龜鬱靈驚麗囊汉语简体字東京都国際"),
    ("Other", "עבריתالعربيةहिन्दीবাংলাไทยລາວქართულიՀայերենአማርኛதமிழ்తెలుగు"),
    ("Symbols", "←↑→↓↔⇒⇔∀∂∃∅∇∈∉∏∑√∞∧∨∩∪∫≈≠≡≤≥⊂⊃⊆⊕─│┌┐└┘├┤╬█▓▒░■□▲△●○★☆♠♥♦♣✓✗①②③€£¥₿™©®°…—–“”‘’"),
    ("Emoji", "😀😂🤔👍🎉🚀🔥💡📄🌍🐍"),
    ("Spaces", "a b\u00a0c\u3000d\te\nf\rg\u200bh\u2028i\ufeff"),
    ("Combining", "a\u0300e\u0301o\u0308c\u0327n\u0303z\u0334\u0489"),
    ("Boxes", "\x00\x1b\x7f\u0085\ue000\uffff\U00010330\U0001f1e6\U000e0041\U0010ffff"),
)
CONFUSABLE = (
    *("0Oo", "1lI|", "5S", "8B", "2Z", "KH", "ce", "nh", "uv", "vy", ".,", ":;", "'`", "{("),
    *("日曰", "己已巳", "未末", "土士", "ソン", "シツ", "AΑА", "oοо", "pр", "ー一"),
)
WIDE_TOKENS = (
    b" " * 64,
    b"=" * 40,
    b"internationalization",
    b" antidisestablishment",
    b"abcdefghijklmnopqrstuvwxyz0123456789",
    "長い全角文字列の語".encode(),
    b"caf\xc3",
    b"\xf0\x9f\x98",
)


def draw_text(atlas: Atlas, text: str, slots: int) -> np.ndarray:
    """Characters in lines of at most `slots` slots, a free px row between lines: bool [height, slots * unit]."""
    lines: list[list[np.ndarray]] = [[]]
    x = 0
    for glyph in (atlas.codepoint(ord(c)) for c in text):
        if x + glyph.shape[1] > slots * atlas.unit:
            lines.append([])
            x = 0
        lines[-1].append(glyph)
        x += glyph.shape[1]
    return np.concatenate([_row(line, atlas, slots) for line in lines])


def draw_sheet(atlas: Atlas, text: str = "") -> np.ndarray:
    """The whole sheet at glyph px: bool [height, width], True is ink."""
    sections = [*SECTIONS, ("Text", text)] if text else list(SECTIONS)
    rows = [_labelled(atlas, name, draw_text(atlas, sample, _LINE_SLOTS)) for name, sample in sections]

    raw = [atlas.byte(b) for b in (0x00, 0x7F, 0x80, 0xC3, 0xE2, 0xF0, 0xFF)]
    rows.append(_labelled(atlas, "Raw bytes", _row(raw, atlas, _LINE_SLOTS)))
    cells = np.pad(atlas.unpack(atlas.draw_tokens(WIDE_TOKENS)), ((0, 0), (0, 3), (0, atlas.unit)))
    per_line = _LINE_SLOTS // (atlas.columns + 1)
    lines = [np.concatenate(list(cells[i : i + per_line]), axis=1) for i in range(0, len(cells), per_line)]
    rows.append(_labelled(atlas, "Wide tokens", np.concatenate([_fill(line, atlas, _LINE_SLOTS) for line in lines])))

    big = [
        draw_text(atlas, group, sum(atlas.codepoint(ord(c)).shape[1] for c in group) // atlas.unit)
        for group in CONFUSABLE
    ]
    rows.append(_labelled(atlas, "Confusable", _enlarged(big, atlas)))
    gap = np.zeros((atlas.cell_height // 2, rows[0].shape[1]), dtype=bool)
    return np.pad(np.concatenate([part for row in rows for part in (row, gap)]), atlas.unit)


def _enlarged(groups: list[np.ndarray], atlas: Atlas, factor: int = 3) -> np.ndarray:
    """Groups of glyphs `factor` times as large, as many on a line as fit."""
    lines: list[list[np.ndarray]] = [[]]
    x = 0
    for group in groups:
        large = np.pad(group.repeat(factor, axis=0).repeat(factor, axis=1), ((0, 4), (0, 2 * atlas.unit)))
        if x + large.shape[1] > _LINE_SLOTS * atlas.unit:
            lines.append([])
            x = 0
        lines[-1].append(large)
        x += large.shape[1]
    return np.concatenate([_fill(np.concatenate(line, axis=1), atlas, _LINE_SLOTS) for line in lines])


def _row(glyphs: list[np.ndarray], atlas: Atlas, slots: int) -> np.ndarray:
    return _fill(np.pad(np.concatenate(glyphs, axis=1), ((0, 2), (0, 0))), atlas, slots)


def _fill(image: np.ndarray, atlas: Atlas, slots: int) -> np.ndarray:
    """Blank to the right up to `slots` slots."""
    return np.pad(image, ((0, 0), (0, slots * atlas.unit - image.shape[1])))


def _labelled(atlas: Atlas, name: str, body: np.ndarray) -> np.ndarray:
    label = _row([atlas.codepoint(ord(c)) * (c != " ") for c in name], atlas, _LABEL_SLOTS)
    return np.concatenate([np.pad(label, ((0, body.shape[0] - label.shape[0]), (0, 0))), body], axis=1)


def _work(args: argparse.Namespace) -> tuple[int, str, dict[str, Any]]:
    atlas = Atlas.load(args.atlas)
    sheet = draw_sheet(atlas, args.text)
    picture = Image.fromarray(~sheet.repeat(_SCALE, axis=0).repeat(_SCALE, axis=1))
    stream = io.BytesIO()
    picture.save(stream, "png")
    with atomic_write(Path(args.output)) as target:
        target.write(stream.getvalue())
    shown = {ord(c) for _, sample in SECTIONS for c in sample}
    record = {"path": args.output, "width": picture.width, "height": picture.height, "codepoints": len(shown)}
    return 0, f"{args.output}: {picture.width} x {picture.height} px, atlas {atlas.hash[:16]}", record


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    made = parser("render.sheet", "Draw a contact sheet of the atlas.", "-o sheet.png")
    made.add_argument("-o", "--output", metavar="PNG", default="sheet.png", help="where to write")
    made.add_argument("--atlas", metavar="PATH", help="the atlas (default: that of the default style)")
    made.add_argument("--text", default="", help="a text to draw in a row of its own")
    return run(made, _work, argv)


if __name__ == "__main__":
    sys.exit(main())
