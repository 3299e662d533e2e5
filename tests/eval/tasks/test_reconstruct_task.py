"""The task `reconstruct`: what its pages hold, and that its metrics are those of `vtc.metrics.fidelity`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from ipaddress import IPv6Address
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.bootstrap import estimates
from eval.data import data_dir
from eval.registry import TASKS
from eval.schema import Item, Outcome, Sample
from eval.tasks.reconstruct import Reconstruct
from eval.tasks.reconstruct.documents import PYTHON_MODULES, SETS, cut, source_of
from eval.tasks.reconstruct.identifiers import iban
from eval.tasks.reconstruct.score import METRICS, measures
from vtc.metrics import fidelity
from vtc.records.config import load_config
from vtc.records.errors import UsageError, VtcError
from vtc.records.registry import lookup

needs_data = pytest.mark.skipif(
    not (data_dir() / "fox_en.jsonl.gz").is_file(),
    reason="no evaluation texts: name their directory in VTC_DATA (from dududuck00/DeepSeekOCR)",
)
MADE = tuple(name for name in SETS if name not in ("fox", "random-letters", "stories"))


def page(text: bytes, name: str = "p") -> Item:
    return Item(name, "made", text, "restore")


def values(items: Sequence[Item], outputs: Sequence[str]) -> dict[str, float]:
    """Metrics of a system that gave these outputs."""
    task = Reconstruct()
    samples = [
        Sample("reconstruct", "s", item.id, item.subset, "text", {}, found, "", "", "", 1, 1, None, None, None, 0, 0)
        for item, output in zip(items, outputs, strict=True)
        for found in [task.score(item, item.probes[0], Outcome(output))]
    ]
    return {name: estimate.value for name, estimate in estimates(METRICS, samples, {}, resamples=10).items()}


def decoded(item: Item) -> str:
    return item.text.decode("utf-8", "surrogateescape")


def items(**settings: object) -> list[Item]:
    return list(Reconstruct(**{"sets": MADE, **settings}).items())  # type: ignore[arg-type]


def test_a_task_gives_the_same_pages_every_time_and_others_from_another_seed() -> None:
    assert lookup(TASKS, "reconstruct") is Reconstruct
    made = items()
    assert made == items()
    assert len({item.id for item in made}) == len(made)
    assert all(item.mode == "restore" and len(item.probes) == 1 for item in made)
    for name in ("han", "hex", "identifiers", "repeated"):
        assert not {i.text for i in items(sets=(name,))} & {i.text for i in items(sets=(name,), seed=1)}


def test_the_number_of_pages_is_that_of_every_set() -> None:
    assert Counter(item.subset for item in items(pages=2)) == dict.fromkeys(MADE, 2)
    assert len(items(sets=("hex",), pages=25)) == 25
    assert items(sets=("han", "identifiers"), pages=2)[-1] == items(sets=("identifiers",), pages=5)[1]


def test_settings_that_name_nothing_are_refused() -> None:
    with pytest.raises(UsageError, match="did you mean 'hex'"):
        load_config(Reconstruct, overrides=["sets=[hexx]"])
    with pytest.raises(UsageError, match="pages=0"):
        Reconstruct(pages=0)


def test_without_data_the_error_says_where_it_comes_from(tmp_path: object) -> None:
    with pytest.raises(VtcError, match="dududuck00/DeepSeekOCR"):
        next(Reconstruct(data=str(tmp_path)).items())


@given(st.text("ab \n", max_size=300), st.integers(1, 50))
def test_cut_pages_are_the_text_and_end_at_paragraphs(text: str, size: int) -> None:
    pages = list(cut(text, size))
    assert "".join(pages) == text
    assert all(page.endswith("\n\n") for page in pages[:-1])
    assert all(len(page) <= size or not re.search(r"\n\n[^\n]", page) for page in pages)


def test_source_pages_are_the_modules() -> None:
    texts = {name: b"" for name in PYTHON_MODULES}
    for item in items(sets=("python",)):
        texts[item.id.split("/")[1].rpartition("-")[0]] += item.text
    assert texts == {name: source_of(name).read_bytes() for name in PYTHON_MODULES}


def test_check_digits_of_published_ibans() -> None:
    """Examples of the IBAN registry."""
    for example in (
        "DE89370400440532013000",
        "GB29NWBK60161331926819",
        "FR1420041010050500013M02606",
        "CH9300762011623852957",
        "MT84MALT011000012345MTLCAST001S",
        "NO9386011117947",
    ):
        assert iban(example[:2], example[4:]) == example


def test_identifiers_are_valid() -> None:
    kinds: Counter[str] = Counter()
    for line in "".join(decoded(item) for item in items(sets=("identifiers",))).splitlines():
        kind, _, value = line.partition(" ")
        kinds[kind] += 1
        if kind == "IBAN":  # ISO 7064: read as a number with the country at the end, the remainder by 97 is 1
            assert int("".join(str(int(c, 36)) for c in value[4:] + value[:4])) % 97 == 1
        elif kind == "UUID":
            assert UUID(value).version == 4
        elif kind == "address":
            assert str(IPv6Address(value)) == value
    assert min(kinds.values()) >= 100 and len(kinds) == 7


def test_the_repeated_line_stands_as_often_as_it_should() -> None:
    for item, times in zip(items(sets=("repeated",), pages=8), [3, 17, 100, 365] * 2, strict=True):
        counts = Counter(decoded(item).split("\n"))
        assert sorted(counts.values())[-2:] == [1, times]
        assert len(counts) == 14, "twelve lines, the repeated one, and nothing after the last line end"


def test_the_unicode_set_holds_what_breaks_pipelines() -> None:
    texts = {item.id.split("/")[1]: item.text for item in items(sets=("unicode",))}
    joined = b"\n".join(texts.values())
    assert texts["empty"] == b"" and b"\x00" in joined and b"\r\n" in joined
    assert re.search(rb"\r[^\r\n]", texts["line-ends"]), "a lone CR"
    assert set(texts["every-byte"]) == set(range(256))
    assert len(texts["one-long-line"]) == 5000 and not re.search(rb"\s", texts["one-long-line"])
    assert b"a" * 5000 in joined and b"<|im_start|>" in joined
    assert sum(not _is_utf8(text) for text in texts.values()) >= 8
    for character in "\u202e\u200d\u0300\ue000\ufdd0\U0010ffff\ufeff\u2028":
        assert character.encode() in joined


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def broken(text: str, i: int) -> str:
    """The text with one of six faults."""
    faults = [
        text,
        " ".join(text.split()),
        text[: len(text) // 2],
        text.upper(),
        text + text[-40:],
        re.sub(r"\d", "7", text),
    ]
    return faults[i % len(faults)]


def test_metrics_are_those_of_fidelity() -> None:
    pages = items(pages=6)
    texts = [decoded(item) for item in pages]
    outputs = [broken(text, i) for i, text in enumerate(texts)]
    found, wanted = values(pages, outputs), fidelity(texts, outputs)
    for metric, column in {
        "char_accuracy": "char_accuracy_mean",
        "char_accuracy_median": "char_accuracy_median",
        "char_accuracy_p5": "char_accuracy_p5",
        "char_accuracy_normalised": "char_accuracy_normalised_mean",
        "digit_word_recall": "digit_word_recall",
        "identifier_recall": "identifier_recall",
        "alphabetic_word_recall": "alphabetic_word_recall",
        "fox_set_precision": "fox_set_precision",
    }.items():
        assert 0 < wanted[column] < 1, f"{column} would agree by accident"
        assert found[metric] == pytest.approx(wanted[column], abs=1e-12), metric
    assert found["exact_pages"] == wanted["exact_pages"] / len(pages)
    assert found["exact_pages_normalised"] == wanted["exact_pages_normalised"] / len(pages)
    assert 0 < found["exact_pages"] < found["exact_pages_normalised"] < 1


def test_invalid_bytes_are_exact_only_if_every_one_is() -> None:
    text = b"caf\xe9 \xff\xfe end"
    assert values([page(text)], [text.decode("utf-8", "surrogateescape")])["exact_pages"] == 1
    replaced = values([page(text)], [text.decode("utf-8", "replace")])
    assert replaced["exact_pages"] == 0
    assert replaced["char_accuracy"] == pytest.approx(1 - 3 / len(text))


def test_a_loop_and_a_lost_repeat_cost_their_line() -> None:
    text = "a\n" * 5 + "b\n" * 4 + "c\nc\nd\n" + "  \n" * 9
    for output, right in (
        (text, 2),
        (text + "a\n", 1),
        (text.replace("b\n", "", 1), 1),
        (text.replace("c\n", ""), 2),
        ("", 0),
    ):
        found = measures(text, output)
        assert (found["repeat_found"], found["repeat_total"]) == (right, 2), output


def test_a_metric_without_anything_to_count_is_left_out() -> None:
    found = values([page(b"letters only")], ["letters only"])
    assert found["alphabetic_word_recall"] == 1
    assert not {"digit_word_recall", "identifier_recall", "repeat_recall"} & found.keys()
    assert values([page(b"")], [""])["char_accuracy"] == 1


def test_one_lost_digit_a_page_is_caught_by_the_digit_measures() -> None:
    """Character accuracy hardly sees it."""
    pages = items(sets=("identifiers", "hex"))
    found = values(pages, [re.sub(r"\d", "", decoded(item), count=1) for item in pages])
    assert found["char_accuracy"] > 0.99
    assert found["exact_pages"] == 0
    lost = len(pages) / sum(any(c.isdigit() for c in word) for item in pages for word in decoded(item).split())
    assert found["digit_word_recall"] == pytest.approx(1 - lost)
    assert found["identifier_recall"] < 1


@needs_data
def test_published_outputs_travel_with_their_pages() -> None:
    fox, letter = (next(Reconstruct(sets=(name,), pages=1).items()) for name in ("fox", "random-letters"))
    assert {"clean_64", "clean_100", "clean_256", "scan_64", "tokens_deepseek"} <= fox.stored.keys()
    assert {"random_64", "random_100", "tokens_deepseek"} == letter.stored.keys()


@needs_data
def test_stories_are_cut_into_pages() -> None:
    pages = [len(decoded(item)) for item in Reconstruct(sets=("stories",)).items()]
    assert len(pages) > 12 and max(pages) <= 4000
