"""Texts that a task makes itself."""

from __future__ import annotations

import re

from eval.texts import han_pages, hex_pages


def test_han_pages_hold_common_han_and_repeat_by_seed() -> None:
    pages = han_pages(2, seed=3)
    assert pages == han_pages(2, seed=3) != han_pages(2, seed=4)
    for page in pages:
        assert len(page) == 1000 and re.fullmatch(r"[\u4e00-\u9fff，。]+", page)
        assert all(0xB0 <= pair.encode("gb2312")[0] < 0xD8 for pair in page if pair not in "，。")


def test_hex_pages_are_lines_of_64_digits() -> None:
    page = hex_pages(1)[0]
    assert all(re.fullmatch("[0-9a-f]{64}", line) for line in page.split("\n")) and len(set(page.split("\n"))) == 30
