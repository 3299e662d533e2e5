"""A run's report as a browser sees it: nothing runs, nothing is fetched, and it is never wider than its window.

The run is the handmade one of `conftest.py`, whose texts try to be markup.
"""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from PIL import Image

from eval import browser

pytestmark = pytest.mark.skipif(browser.find() is None, reason="no browser; install one: python -m eval.browser")
WIDTHS = (390, 1280)

# Looks into a frame of each width once all are loaded; the frames are files, as the wrapper is.
WRAPPER = """<!doctype html><body>{frames}<script>
addEventListener("load", () => {{
  const found = [...document.querySelectorAll("iframe")].map((frame) => {{
    const page = frame.contentDocument;
    page.querySelectorAll("details").forEach((part) => {{ part.open = true; }});
    const root = page.documentElement;
    return {{ title: page.title, window: frame.clientWidth, page: root.scrollWidth, text: page.body.innerText,
      overflowing: [...page.querySelectorAll("td, p, h1, h4, pre, .text")].filter(
        (part) => !part.closest(".scroll") && part.scrollWidth > part.clientWidth + 1).length }};
  }});
  document.body.dataset.found = JSON.stringify(found);
}});
</script></body>"""


class Elements(HTMLParser):
    """Names and attributes of all elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def page(reported: tuple[Path, Path]) -> Path:
    return reported[0] / "report.html"


@pytest.fixture(scope="module")
def frames(page: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    """What the page is like at each width."""
    wrapper = tmp_path_factory.mktemp("wrapper") / "wrapper.html"
    inner = "".join(
        f'<iframe src="{page.resolve().as_uri()}" style="width:{width}px;height:800px;border:0"></iframe>'
        for width in WIDTHS
    )
    wrapper.write_text(WRAPPER.format(frames=inner), encoding="utf-8")
    elements = Elements()
    elements.feed(browser.dump_dom(wrapper))
    (body,) = [attributes for tag, attributes in elements.found if tag == "body"]
    found: list[dict[str, object]] = json.loads(body["data-found"] or "null")
    assert [frame["window"] for frame in found] == list(WIDTHS)
    return found


def test_the_page_is_never_wider_than_its_window(frames: list[dict[str, object]]) -> None:
    for frame in frames:
        assert frame["page"] <= frame["window"]  # type: ignore[operator]
        assert frame["overflowing"] == 0


def test_the_texts_are_there_as_texts(frames: list[dict[str, object]]) -> None:
    for frame in frames:
        text = str(frame["text"])
        assert "<script>document.title='pwned'</script>" in text
        assert "What is the uuid of Mr Hale's locker? <img src=x onerror=\"document.title='pwned'\">" in text
        for needed in ("שלום", "U+0000", "byte FF", "漢字", "Worst pages", "Wrong answers", "tesseract: not found"):
            assert needed in text


def test_no_script_ran_and_nothing_is_fetched(page: Path, frames: list[dict[str, object]]) -> None:
    assert {frame["title"] for frame in frames} == {f"Evaluation run {page.parent.name}"}
    elements = Elements()
    elements.feed(browser.dump_dom(page))
    tags = {tag for tag, _ in elements.found}
    assert not tags & {"script", "link", "iframe", "object", "embed", "base"}
    for tag, attributes in elements.found:
        assert not any(name.startswith("on") for name in attributes)
        for name in {"src", "href", "srcset", "action", "poster", "data"} & set(attributes):
            assert re.match(r"data:image/png;base64,|#", attributes[name] or ""), (tag, name)
    assert not re.search(r"url\(|@import", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("dark", [False, True])
def test_it_can_be_looked_at(page: Path, tmp_path: Path, dark: bool) -> None:
    picture = Image.open(browser.screenshot(page, tmp_path / "page.png", 1280, 800, dark)).convert("L")
    assert picture.size == (1280, 800)
    darkest, lightest = picture.getextrema()
    assert lightest - darkest > 150  # ink on a page
    assert (picture.getpixel((3, 790)) < 80) == dark
