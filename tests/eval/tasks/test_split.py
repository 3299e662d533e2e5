"""The two sides of every domain."""

from __future__ import annotations

import hashlib
import random

import pytest

from eval.data import data_dir
from eval.tasks.filler import DOMAINS, documents, haystack
from eval.tasks.split import check_split, side
from vtc.llm.vocabulary import Vocabulary
from vtc.records.errors import UsageError

has_data = (data_dir() / "fox_en.jsonl.gz").is_file()
needs_data = pytest.mark.skipif(
    not has_data, reason="no evaluation texts: name their directory in VTC_DATA (from dududuck00/DeepSeekOCR)"
)
EVERY = [pytest.param(d, marks=needs_data if d in ("prose", "fox") else ()) for d in DOMAINS]


def names(domain: str, split: str, seed: int | None = None) -> list[str]:
    draw = None if seed is None else random.Random(seed)
    return [name for name, _ in documents(domain, draw=draw, split=split)]


def test_a_side_is_the_hash_of_the_domain_and_the_name() -> None:
    assert [side("code/ast"), side("code/argparse"), side("manual/assert")] == [
        "test" if int(hashlib.sha256(key).hexdigest()[:16], 16) % 3 else "dev"
        for key in (b"code/ast", b"code/argparse", b"manual/assert")
    ]
    found = [side(f"made/{number}") for number in range(3000)]
    assert 900 < found.count("dev") < 1100 and set(found) == {"dev", "test"}


@pytest.mark.parametrize("domain", EVERY)
def test_the_sides_are_disjoint_and_all_of_it(domain: str) -> None:
    dev, test = set(names(domain, "dev")), set(names(domain, "test"))
    assert dev and test and not dev & test and dev | test == set(names(domain, "all"))
    assert names(domain, "dev") == [name for name in names(domain, "all") if name in dev]
    drawn = names(domain, "test", seed=5)
    assert set(drawn) == test and drawn == names(domain, "test", seed=5)


def test_a_mixed_text_is_on_the_side_it_has_in_its_own_domain() -> None:
    for split in ("dev", "test"):
        apart = [f"{domain}/{name}" for domain in ("manual", "code") for name in names(domain, split)]
        assert sorted(names("mixed", split)) == sorted(apart)
    order = names("mixed", "all", seed=1)[:20]
    assert {name.split("/")[0] for name in order} == {"manual", "code"}, "they take turns by chance"


@pytest.mark.parametrize(
    ("domain", "split", "tokens"),
    [
        ("manual", "dev", 8000),
        ("manual", "test", 8000),
        ("code", "dev", 8000),
        ("code", "test", 8000),
        pytest.param("fox", "dev", 8000, marks=needs_data),
        pytest.param("fox", "test", 8000, marks=needs_data),
        pytest.param("prose", "dev", 2500, marks=needs_data),  # it is a single story
        pytest.param("prose", "test", 8000, marks=needs_data),
        ("mixed", "dev", 262_000),
        ("mixed", "test", 262_000),
    ],
)
def test_each_side_holds_enough(domain: str, split: str, tokens: int, vocabulary: Vocabulary) -> None:
    hay = haystack(domain, tokens, vocabulary, random.Random(2), split=split)
    assert 0.9 * tokens <= len(vocabulary.encode(hay)) <= 1.01 * tokens


def test_what_is_missing_is_named(vocabulary: Vocabulary) -> None:
    with pytest.raises(UsageError, match="of manual, split dev, were asked for"):
        haystack("manual", 10**6, vocabulary, random.Random(2), split="dev")
    with pytest.raises(UsageError, match="did you mean 'test'"):
        check_split("tests")
