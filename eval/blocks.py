"""A report as blocks, written twice: Markdown with its pictures beside it, and one HTML file that holds them.

Text of blocks may carry `code` and **bold**; everything else is plain.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vtc.records.artefact import atomic_write

STYLE = """
body { font: 16px/1.55 system-ui, sans-serif; color: #1c1c1c; background: #fff; max-width: 60rem; margin: 2.5rem auto;
       padding: 0 1.2rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin-bottom: .3rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .6rem; border-bottom: 1px solid #ddd; padding-bottom: .25rem; }
h3 { font-size: 1.05rem; margin: 1.8rem 0 .4rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .8rem 0; font-size: .9rem; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid #e4e4e4; text-align: left; vertical-align: top; }
th { border-bottom: 2px solid #999; white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code { font: .88em ui-monospace, monospace; background: #f3f3f3; padding: .1em .3em; border-radius: 3px; }
pre { font: .82rem/1.5 ui-monospace, monospace; background: #f3f3f3; padding: .8rem 1rem; overflow-x: auto; }
blockquote { margin: .6rem 0; padding: .2rem 1rem; border-left: 4px solid #0072b2; color: #333; }
figure { margin: 1rem 0; }
img { max-width: 100%; height: auto; border: 1px solid #e4e4e4; }
figcaption { font-size: .85rem; color: #555; }
"""


@dataclass(frozen=True)
class Heading:
    """A title; the report itself is level 1."""

    text: str
    level: int = 2

    def markdown(self) -> str:
        return f"{'#' * self.level} {self.text}"

    def html(self, folder: Path) -> str:
        return f"<h{self.level}>{inline(self.text)}</h{self.level}>"


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str

    def markdown(self) -> str:
        return self.text

    def html(self, folder: Path) -> str:
        return f"<p>{inline(self.text)}</p>"


@dataclass(frozen=True)
class Quote:
    """Words of the document, with where they stand."""

    text: str
    where: str

    def markdown(self) -> str:
        return f"> {escaped(self.text)}\n>\n> ({self.where})"

    def html(self, folder: Path) -> str:
        return f"<blockquote>{html.escape(self.text)} <small>({html.escape(self.where)})</small></blockquote>"


@dataclass(frozen=True)
class Code:
    """Lines for the shell."""

    lines: Sequence[str]

    def markdown(self) -> str:
        return "\n".join(["```sh", *self.lines, "```"])

    def html(self, folder: Path) -> str:
        return f"<pre>{html.escape(chr(10).join(self.lines))}</pre>"


@dataclass(frozen=True)
class Table:
    """Rows of cells; numbers are flush right. Cells are plain text."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        sides = ["--:" if self.numeric(i) else "---" for i in range(len(self.head))]
        lines = [self.head, sides, *([escaped(cell) for cell in row] for row in self.rows)]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def html(self, folder: Path) -> str:
        kinds = [' class="number"' if self.numeric(i) else "" for i in range(len(self.head))]
        head = "".join(f"<th{kind}>{inline(cell)}</th>" for kind, cell in zip(kinds, self.head, strict=True))
        lines = [
            "".join(f"<td{kind}>{html.escape(cell)}</td>" for kind, cell in zip(kinds, row, strict=True))
            for row in self.rows
        ]
        body = "\n".join(f"<tr>{line}</tr>" for line in lines)
        return f'<div class="scroll"><table>\n<tr>{head}</tr>\n{body}\n</table></div>'

    def numeric(self, column: int) -> bool:
        """Whether every filled cell of a column is a number, a ratio or a count of pages."""
        cells = [row[column] for row in self.rows if row[column] not in ("", "-")]
        return bool(cells) and all(re.fullmatch(r"[-+]?[\d.]+([:/]\d+)?", cell) for cell in cells)


@dataclass(frozen=True)
class Picture:
    """A PNG in the report's folder."""

    path: str
    """Relative to the report."""
    caption: str

    def markdown(self) -> str:
        return f"![{self.caption}]({self.path})"

    def html(self, folder: Path) -> str:
        data = base64.b64encode((folder / self.path).read_bytes()).decode()
        image = f'<img src="data:image/png;base64,{data}" alt="{html.escape(self.caption)}">'
        return f"<figure>{image}<figcaption>{inline(self.caption)}</figcaption></figure>"


Block = Heading | Paragraph | Quote | Code | Table | Picture


def write_report(folder: Path, title: str, blocks: Sequence[Block]) -> tuple[Path, Path]:
    """Write `report.md` and `report.html` into a folder that holds the pictures, each atomically.

    Raises:
        VtcError: the place cannot be written.
    """
    blocks = [Heading(title, 1), *blocks]
    markdown = "\n\n".join(block.markdown() for block in blocks) + "\n"
    body = "\n".join(block.html(folder) for block in blocks)
    page = (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{html.escape(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<style>{STYLE}</style>\n'
        f"<body>\n{body}\n</body>\n</html>\n"
    )
    paths = (folder / "report.md", folder / "report.html")
    for path, content in zip(paths, (markdown, page), strict=True):
        with atomic_write(path) as stream:
            stream.write(content.encode())
    return paths


def inline(text: str) -> str:
    """HTML of a text with `code` and **bold**."""
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", safe)


def escaped(text: str) -> str:
    """Plain text for Markdown: on one line, nothing in it is markup."""
    return re.sub(r"([\\`*|<>\[\]#]|(?<!\w)_|_(?!\w))", r"\\\1", " ".join(text.split()))
