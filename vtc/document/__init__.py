"""The `.vtc` file: text as pages of latents, in one safetensors file with a JSON header, exact to the byte."""

from vtc.document.facts import record
from vtc.document.failure import PagesFailed, failure
from vtc.document.folding import new_header, write_pages
from vtc.document.header import Header
from vtc.document.reader import Document, StoredPage, is_document, name_pages, open_document
from vtc.document.writer import DocumentWriter, write_document

__all__ = [
    "Document",
    "DocumentWriter",
    "Header",
    "PagesFailed",
    "StoredPage",
    "failure",
    "is_document",
    "name_pages",
    "new_header",
    "open_document",
    "record",
    "write_document",
    "write_pages",
]
