"""Search: BM25 against its formula, and words of any script."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from vtc.readers.search import Index, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Wolf, wolf's 2,500 x_1 __init__()", ["the", "wolf", "wolf", "s", "2", "500", "x_1", "__init__"]),
        ("Straße ﬁn Ｆｕｌｌ", ["strasse", "fin", "full"]),
        ("e\u0301tude हिन्दी", ["\u00e9tude", "हिन्दी"]),
        ("東京都 is big", ["東", "京", "都", "東京", "京都", "is", "big"]),
        ("猫が", ["猫", "が", "猫が"]),
        ("한국 ไทย", ["한", "국", "한국", "ไ", "ท", "ย", "ไท", "ทย"]),
        ("?! ...\n", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_scores_are_those_of_the_formula() -> None:
    """Lucene's BM25 with k1 = 1.5 and b = 0.75, summed over the question's words, as Robertson et al. define it."""
    texts = ["the wolf and the lamb", "the wolf", "a lamb and a lamb and a fox", "the fox went away from the wolf", ""]
    bags = [Counter(text.split()) for text in texts]
    sizes = [max(1, bag.total()) for bag in bags]  # an empty passage holds the empty word
    mean = sum(sizes) / len(sizes)

    def score(bag: Counter[str], size: int, asked: str) -> float:
        total = 0.0
        for word in asked.split():
            holders = sum(word in other for other in bags)
            idf = math.log(1 + (len(bags) - holders + 0.5) / (holders + 0.5))
            total += idf * bag[word] / (bag[word] + 1.5 * (1 - 0.75 + 0.75 * size / mean)) if bag[word] else 0.0
        return total

    index = Index(texts)
    for question in ("wolf", "the lamb", "fox and wolf", "unknown lamb"):
        scores = [score(bag, size, question) for bag, size in zip(bags, sizes, strict=True)]
        expected = [i for i in sorted(range(len(texts)), key=lambda i: -scores[i]) if scores[i] > 0]
        assert index.rank(question).tolist() == expected
        assert np.allclose(index._bm25.get_scores(words(question)), scores, atol=1e-5)


def test_nothing_is_found_without_a_common_word() -> None:
    index = Index(["the wolf", "", "..."])
    for question in ("lamb", "狼", "?!", ""):
        assert index.rank(question).size == 0


@pytest.mark.parametrize(
    ("texts", "question"),
    [
        (["今天天气很好。", "作者出生于苏州。", "他喜欢喝茶。"], "作者是在哪里出生的?"),
        (["昨日は雨だった。", "図書館は九時に開く。", "猫が好きだ。"], "図書館は何時に開きますか"),
        (["วันนี้ฝนตก", "ห้องสมุดเปิดเก้าโมง", "ฉันชอบแมว"], "ห้องสมุดเปิดกี่โมง"),
        (["오늘은 비가 왔다.", "도서관은 아홉 시에 연다.", "고양이를 좋아한다."], "도서관이 몇 시에 열리나요?"),
        (["Сегодня шёл дождь.", "Библиотека открыта с девяти.", "Он любит чай."], "Когда открыта БИБЛИОТЕКА?"),
        (["आज बारिश हुई।", "पुस्तकालय नौ बजे खुलता है।", "उसे चाय पसंद है।"], "पुस्तकालय कब खुलता है?"),
    ],
    ids=["zh", "ja", "th", "ko", "ru", "hi"],
)
def test_other_scripts_find_their_passage(texts: list[str], question: str) -> None:
    assert Index(texts).rank(question)[0] == 1
