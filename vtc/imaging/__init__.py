"""A text as page images, and exactly back from them.

    from vtc import imaging
    imaging.write("report.txt", "pages/")
    text = imaging.read(["pages/"])

Every symbol is its glyph image from the glyph table, so reading is a look-up. Each page carries what its cells alone do
not tell: its number, what corrects it where the tokenizer does not give the text back (`vtc.document.paging`), and the
SHA-256 of all text before it, so that a missing, foreign or exchanged page is noticed.
"""

from vtc.imaging.reading import read
from vtc.imaging.writing import write

__all__ = ["read", "write"]
