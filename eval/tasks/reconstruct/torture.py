"""Texts that break pipelines: each is legal input for a codec, and each must come back to the byte."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest


def torture_texts() -> Iterator[tuple[str, bytes]]:
    """Name and bytes of every text, of every kind in turn so that the first few are unlike; no seed changes them."""
    yield "empty", b""
    for texts in zip_longest(_characters(), _lines(), _bytes()):
        yield from filter(None, texts)


def _characters() -> Iterator[tuple[str, bytes]]:
    """Valid UTF-8 that is hard to show, to normalise or to segment."""
    letters = "".join(chr(code) for code in range(0x61, 0x7B))
    stacks = "".join(f"{letter}{''.join(map(chr, range(0x300, 0x300 + 12)))}" for letter in letters)
    families = [
        "👩\u200d👩\u200d👧\u200d👦",
        "🏳\ufe0f\u200d🌈",
        "👍🏽",
        "🇫🇷🇯🇵",
        "🧑🏿\u200d🚀",
        "❤\ufe0f\u200d🔥",
        "1\ufe0f\u20e3",
    ]
    planes = [(plane << 16) + low for plane in range(17) for low in (0xFFFE, 0xFFFF)]
    texts = {
        "right-to-left": "שלום \u202bמספר 123\u202c abc \u2067العربية ٤٢\u2069 \u202eevil.txt\u202c end \u200f!\u200e\n"
        * 8,
        "combining": stacks,
        "one-character": "x",
        "normal-forms": "é e\u0301 Å A\u030a \u212b ﬁ fi ½ ① ｶﾞ ガ 한 \u1112\u1161\u11ab ² ₂ ſ ß ẞ\n" * 8,
        "emoji": " ".join(families * 12),
        "private-use": "".join(
            map(chr, [*range(0xE000, 0xE040), *range(0xF0000, 0xF0020), *range(0x100000, 0x100020)])
        ),
        "noncharacters": "".join(map(chr, [*range(0xFDD0, 0xFDF0), *planes])),
        "zero-width": "a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg\u180eh\u034fi\u061cj" * 20,
        "byte-order-mark": "\ufeffThe mark at the start is text too.\ufeff\n",
        "replacement": "\ufffd lost \ufffd\ufffd and \ufffc\n" * 8,
        "spaces": "".join(
            f"[{chr(code)}]" for code in (0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x3000)
        ),
        "controls": "".join(f"{code}:{chr(code)} " for code in [*range(0x20), *range(0x7F, 0xA0)]),
        "letters-like-others": "paypal раураl ΡayΡal ｐａｙｐａｌ l1I|Ⅰ O0О〇 rn m vv w\n" * 8,
        "mixed-scripts": "Zażółć ἀρχή Ωmega Привет ሰላም नमस्ते สวัสดี 你好 こんにちは 안녕 𝔘𝔫𝔦 𐍈 𒀀 🜁\n" * 8,
        "special-tokens": "<|im_start|>system\n<|im_end|><|endoftext|><s></s>[INST]<pad><unk><|image_pad|>▁ ĠĊ <0x0A>\n"
        * 4,
    }
    for name, text in texts.items():
        yield name, text.encode()


def _lines() -> Iterator[tuple[str, bytes]]:
    """White space and length."""
    yield "line-ends", b"unix\ndos\r\nmac\rdouble\r\r\nturned\n\rlast\r"
    yield "one-long-line", bytes(0x61 + i * i % 26 for i in range(5000))
    yield "one-character-5000-times", b"a" * 5000
    yield "spaces-5000", b" " * 5000
    yield "han-5000-times", "的".encode() * 5000
    yield "tabs", b"\tif x:\n\t\treturn\t1 \t \t\n    \t mixed\n" * 12
    yield "blank-lines", b"\n\n\n  \n\t\n\n a \n\n" * 12
    yield "trailing-spaces", b"end of line   \n  start of line\t \n" * 12


def _bytes() -> Iterator[tuple[str, bytes]]:
    """What is no UTF-8 at all, or hardly."""
    yield "every-byte", bytes(range(256))
    yield "nul", b"a\x00b\x00\x00c" + b"\x00" * 40
    yield "lone-byte", b"\xff"
    yield "latin-1", "Grüße aus Köln, façade, señor, 25 °C\n".encode("latin-1") * 8
    yield "utf-16", b"\xff\xfe" + "Plain words in UTF-16.\n".encode("utf-16-le")
    yield "cut-sequences", b"a\xe4b\xe4\xbdc\xf0\x9f\x98 \xc3 \xe4\xbd\xa0\xe5" * 6
    yield "overlong", b"\xc0\xaf \xe0\x80\xaf \xf0\x80\x80\xaf \xc0\x80"
    yield "encoded-surrogates", b"\xed\xa0\xbd\xed\xb8\x80 \xed\xb2\x80 \xed\xbf\xbf"
    yield "beyond-unicode", b"\xf4\x90\x80\x80 \xf8\x88\x80\x80\x80 \xfe\xff"
