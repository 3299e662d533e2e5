"""The `.vtc` file: text as pages of latents, in one safetensors file with a JSON header, exact to the byte."""

from vtc.document.header import Header
from vtc.document.reader import Document, StoredPage, is_document, name_pages
from vtc.document.writer import DocumentWriter, write_document

__all__ = ["Document", "DocumentWriter", "Header", "StoredPage", "is_document", "name_pages", "write_document"]
