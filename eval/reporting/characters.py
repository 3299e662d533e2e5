"""Any text as HTML that shows what is in it and runs nothing.

What a page cannot hold (NUL and other controls, bytes that were no UTF-8) becomes a label; in marked text, spaces, line
ends and invisible characters are pointed out too, by the style sheet, so that a copy of the text is still the text.
"""

from __future__ import annotations

import html
import re
import unicodedata

# Controls except tab and line feed, surrogates (bytes 0x80..0xff stand as U+DC80..U+DCFF), and the two that HTML bars.
_BARRED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_POINTED = re.compile("[^\x21-\x7e]")
_CLASSES = {" ": "sp", "\n": "nl", "\t": "tab"}


def shown(text: str) -> str:
    """HTML of a text; it holds no tag but `<span class="code">`."""
    return _BARRED.sub(lambda match: _label(match[0]), html.escape(text))


def pointed_out(text: str) -> str:
    """`shown`, with every space, line end, tab and invisible character visible."""
    return _POINTED.sub(lambda match: _pointed(match[0]), html.escape(text))  # escaping adds visible ASCII alone


def system_name(spec: str) -> str:
    """A system's spec, which may be broken after its marks."""
    return re.sub("([:,])", r"\1<wbr>", shown(spec))


def shortened(text: str, limit: int) -> str:
    """The first `limit` characters, with an ellipsis where some were cut off."""
    return text if len(text) <= limit else text[:limit] + "…"


def _pointed(character: str) -> str:
    if character in _CLASSES:
        return f'<span class="{_CLASSES[character]}">{character}</span>'
    hidden = _BARRED.match(character) or unicodedata.category(character) in ("Cf", "Zs", "Zl", "Zp", "Co", "Cn")
    return _label(character) if hidden else character


def _label(character: str) -> str:
    code = ord(character)
    name = f"byte {code - 0xDC00:02X}" if 0xDC80 <= code <= 0xDCFF else f"U+{code:04X}"
    return f'<span class="code">{name}</span>'
