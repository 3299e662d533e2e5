"""Pages that did not come back, as an error that names them."""

from __future__ import annotations

from vtc.document.reader import Document, name_pages
from vtc.records.errors import VerificationError


class PagesFailed(VerificationError):
    """Pages did not come back; `pages` are their numbers, counted from 1."""

    def __init__(self, message: str, indices: list[int]) -> None:
        super().__init__(message)
        self.pages = [i + 1 for i in indices]


def failure(document: Document, failed: list[int], what: str, partial: bool = False) -> PagesFailed:
    """The error for pages of a document, indices counted from 0.

    Args:
        what: what became of them, "did not decode".
        partial: a best guess of them was written.
    """
    mend = "the best guess was written" if partial else "or take the best guess with 'vtc restore --partial'"
    message = f"{document.name}: {name_pages(failed)} of {len(document)} {what}"
    return PagesFailed(f"{message}; fetch the file again or compress the text again, {mend}", failed)
