"""zstd as a system: everything comes back, or the longest part that a budget holds; and a codec that loses a digit."""

from __future__ import annotations

import re
from dataclasses import replace
from types import ModuleType

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from eval.baselines.zstd import Zstd, longest
from eval.bootstrap import estimates
from eval.schema import Item, Result, Sample
from eval.systems.base import Bench, System, build
from eval.tasks.reconstruct import Reconstruct
from vtc.records.errors import UsageError


@pytest.fixture(scope="module")
def bench(byte_level: ModuleType) -> Bench:
    made = Bench()
    made.__dict__["vocabulary"] = byte_level.vocabulary()
    return made


def sizes(text: bytes) -> int:
    return len(zstandard.ZstdCompressor(level=19).compress(text))


def test_every_torture_text_comes_back_exactly(bench: Bench) -> None:
    task, system = Reconstruct(sets=("unicode", "poems", "repeated")), build("zstd", "codec", bench)
    for item in task.items():
        result = system.run(item)
        assert task.score(item, item.probes[0], result.outcomes[0])["exact"] == 1, item.id
        assert result.stored_bytes == sizes(item.text)
        assert result.latents is None and result.outcomes[0].positions is None
        assert (result.text_tokens > 0) == bool(item.text)


def test_tokens_are_those_of_the_vocabulary(bench: Bench) -> None:
    text = "the word in there\n" * 40
    result = build("zstd", "codec", bench).run(Item("i", "s", text.encode(), "restore"))
    assert result.text_tokens == len(bench.vocabulary.encode(text))


@given(st.binary(max_size=400), st.sampled_from([1.0, 1.5, 4.0]))
def test_a_prefix_within_the_budget_and_no_much_longer_one(text: bytes, ratio: float) -> None:
    frame = longest(text, ratio, zstandard.ZstdCompressor(level=19))
    assert len(frame) <= len(text) / ratio
    kept = zstandard.ZstdDecompressor().decompress(frame) if frame else b""
    assert text.startswith(kept)
    fitting = [n for n in range(len(text) + 1) if sizes(text[:n]) <= len(text) / ratio]
    assert len(kept) >= max(fitting, default=0) - 24, "frames of neighbours differ by a few bytes"


def test_a_ratio_keeps_about_what_the_budget_says(bench: Bench) -> None:
    pages = list(Reconstruct(sets=("hex",), pages=3).items())
    system = build("zstd:ratio=4", "codec", bench)
    for item in pages:
        result = system.run(item)
        assert result.stored_bytes is not None and result.stored_bytes <= len(item.text) / 4
        assert result.stored_bytes > len(item.text) / 4 - 8, "the budget is used"
        assert item.text.decode().startswith(result.outcomes[0].text)
        share = len(result.outcomes[0].text) / len(item.text)
        assert 0.25 < share < 0.6, "hexadecimal digits hold 4 of their 8 bits"


def test_options_out_of_range_are_refused(bench: Bench) -> None:
    for spec, message in (("zstd:level=99", "level=99"), ("zstd:ratio=0.5", "ratio=0.5"), ("zstd:rate=4", "ratio")):
        with pytest.raises(UsageError, match=message):
            build(spec, "codec", bench)


class DropsADigit(Zstd):
    """A broken codec: the first digit of a page is lost."""

    def run(self, item: Item) -> Result:
        result = super().run(item)
        lost = [replace(outcome, text=re.sub(r"\d", "", outcome.text, count=1)) for outcome in result.outcomes]
        return replace(result, outcomes=lost)


def metrics_of(system: System) -> dict[str, float]:
    task, samples = Reconstruct(sets=("identifiers", "python", "hex"), pages=6), []
    for item in task.items():
        result = system.run(item)
        measures = task.score(item, item.probes[0], result.outcomes[0])
        samples.append(
            Sample("t", "s", item.id, "", "text", {}, measures, "", "", "", 1, 1, None, None, None, 0.0, 0.0)
        )
    return {name: found.value for name, found in estimates(task.metrics, samples, {}, resamples=2).items()}


def test_a_codec_that_loses_a_digit_a_page_is_caught(bench: Bench) -> None:
    sound, broken = metrics_of(Zstd(bench, "zstd")), metrics_of(DropsADigit(bench, "zstd"))
    assert sound["digit_word_recall"] == sound["char_accuracy"] == sound["exact_pages"] == 1
    assert broken["char_accuracy"] > 0.99
    assert broken["digit_word_recall"] < 1 and broken["exact_pages"] < 0.1
    assert broken["digit_word_recall"] < sound["digit_word_recall"] - 0.005
