"""The real peers, where `make peers` has built them: what they answer, compared with the frozen LLM by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from eval.peers import environments
from eval.peers.adapter import Worker

if TYPE_CHECKING:
    from vtc.llm.frozen import FrozenLM
    from vtc.llm.vocabulary import Vocabulary

TEXT = (
    "The lighthouse keeper wrote down the weather every morning. On Monday the wind came from the north and the sea "
    "was grey. On Tuesday two boats passed the point before noon, one of them with a red sail. On Wednesday nothing "
    "moved. On Thursday the lamp was cleaned and the brass was polished. On Friday a letter arrived from the "
    "harbour office, which asked for the number of the lamp. The number is 48213. On Saturday it rained."
)


def needs(name: str) -> pytest.MarkDecorator:
    """Skip where a peer is not built."""
    return pytest.mark.skipif(environments.stamp(name) is None, reason=f"peer '{name}': not built; run: make peers")


@pytest.fixture(scope="module")
def kvpress(llm_folder: Path) -> Any:
    """The worker of kvpress with the default LLM."""
    with Worker("kvpress", "kvpress_worker.py", "--model", str(llm_folder), "--threads", "1") as worker:
        yield worker


def request(llm: FrozenLM, system: str, ratio: float) -> dict[str, Any]:
    """Four probes about `TEXT`, the last of them as the first."""
    encode = llm.vocabulary.encode
    prompt = encode("\n\nThe number of the lamp is").tolist()
    choices = [encode(text).tolist() for text in (" 48213.", " 77906.", " 48213.")]
    generate = {"prompt": prompt, "new": 6, "stops": sorted(llm.stops)}
    probes = [generate, {"prompt": prompt, "choices": choices}, {"prompt": prompt, "choices": choices[1:]}, generate]
    ids = encode(TEXT).tolist()
    return {"id": "t", "system": system, "ratio": ratio, "opening": ids[:7], "document": ids[7:], "probes": probes}


@needs("kvpress")
def test_no_press_is_the_model_itself(kvpress: Worker, llm: FrozenLM, full: Any) -> None:
    asked, answer = request(llm, "full", 1.0), full
    assert answer["positions"] == len(asked["document"])
    before = asked["opening"] + asked["document"] + asked["probes"][0]["prompt"]
    for choice, losses in zip(asked["probes"][1]["choices"], answer["outcomes"][1]["nll"], strict=True):
        assert losses == pytest.approx(llm.nll(before + choice, len(before)).tolist(), abs=1e-3)
    generated = llm.vocabulary.decode(answer["outcomes"][0]["ids"])
    assert generated == b"".join(llm.generate(before, 6))
    assert b"48213" in generated
    stops = {"prompt": asked["probes"][0]["prompt"], "new": 6, "stops": [answer["outcomes"][0]["ids"][2]]}
    stopped = kvpress.ask({**asked, "probes": [stops]})
    assert stopped["outcomes"][0]["ids"] == answer["outcomes"][0]["ids"][:2]


@pytest.fixture(scope="module")
def full(kvpress: Worker, llm: FrozenLM) -> Any:
    """What is answered from the whole cache."""
    return kvpress.ask(request(llm, "full", 1.0))


@needs("kvpress")
@pytest.mark.parametrize(
    ("system", "off"),
    [("snapkv", 0.6), ("kvzip", 0.6), ("streamingllm", 0.6), ("chunkkv", 10), ("expectedattention", 1)],
)
def test_a_press_keeps_what_was_asked_for_and_leaves_no_trace(
    kvpress: Worker, llm: FrozenLM, full: Any, system: str, off: float
) -> None:
    asked = request(llm, system, 2.0)
    answer = kvpress.ask(asked)
    assert abs(answer["positions"] - len(asked["document"]) / 2) <= off
    first, three, two, again = answer["outcomes"]
    assert first == again, "every probe finds the same state"
    assert three["nll"][0] == pytest.approx(three["nll"][2], abs=1e-4)
    assert three["nll"][1:] == [pytest.approx(losses, abs=1e-4) for losses in two["nll"]]
    assert three["nll"][0] != pytest.approx(full["outcomes"][1]["nll"][0], abs=1e-3), "something is gone"


@needs("kvpress")
def test_a_press_at_one_to_one_drops_nothing(kvpress: Worker, llm: FrozenLM, full: Any) -> None:
    asked = request(llm, "snapkv", 1.0)
    answer = kvpress.ask(asked)
    assert answer["positions"] == len(asked["document"])
    assert answer["outcomes"][1]["nll"][0] == pytest.approx(full["outcomes"][1]["nll"][0], abs=1e-4)


@needs("kvpress")
def test_snapkv_at_four_to_one(kvpress: Worker, llm: FrozenLM) -> None:
    asked = request(llm, "snapkv", 4.0)
    assert abs(kvpress.ask(asked)["positions"] - len(asked["document"]) / 4) < 2


@needs("kvpress")
def test_kvzip_reads_once_for_all_ratios(kvpress: Worker, llm: FrozenLM, llm_folder: Path) -> None:
    """What a worker answers that has read nothing before, after other ratios, another press and another document."""
    asked = request(llm, "kvzip", 8.0)
    with Worker("kvpress", "kvpress_worker.py", "--model", str(llm_folder), "--threads", "1") as worker:
        alone = worker.ask(asked)
    first = kvpress.ask({**asked, "ratio": 2.0})
    kvpress.ask(request(llm, "snapkv", 1.2))
    again = kvpress.ask(asked)
    assert again["prepare_seconds"] == first["prepare_seconds"], "it was not read again"
    assert again["positions"] == alone["positions"] < first["positions"]
    assert [o.get("ids") for o in again["outcomes"]] == [o.get("ids") for o in alone["outcomes"]]
    for ours, theirs in zip(again["outcomes"][1]["nll"], alone["outcomes"][1]["nll"], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)
    back = kvpress.ask({**asked, "ratio": 2.0})  # entries that were masked a moment ago are seen again
    assert back["positions"] == first["positions"]
    for ours, theirs in zip(back["outcomes"][1]["nll"], first["outcomes"][1]["nll"], strict=True):
        assert ours == pytest.approx(theirs, abs=1e-4)
    other = kvpress.ask({**asked, "document": asked["document"][::-1]})
    assert other["prepare_seconds"] != first["prepare_seconds"] and other["outcomes"] != again["outcomes"]


@needs("kvpress")
def test_what_kvpress_refuses_is_an_answer(kvpress: Worker, llm: FrozenLM) -> None:
    asked = request(llm, "snapkv", 4.0)
    assert "window size" in kvpress.ask({**asked, "document": asked["document"][:9]})["error"]
    assert "no press 'snapkw'" in kvpress.ask({**asked, "system": "snapkw"})["error"]
    assert "at least 1" in kvpress.ask({**asked, "document": []})["error"]


@needs("llmlingua")
def test_llmlingua_leaves_tokens_out_and_adds_none(llm_folder: Path, vocabulary: Vocabulary) -> None:
    with Worker("llmlingua", "llmlingua_worker.py", "--model", str(llm_folder), "--threads", "1") as worker:
        answer = worker.ask({"id": "a", "text": TEXT, "question": "", "ratio": 2.0})
        refused = worker.ask({"id": "b", "text": "", "question": "", "ratio": 2.0})
    assert "at least 1" in refused["error"]
    left = iter(TEXT)
    assert all(character in left for character in answer["text"]), "in the order of the text"
    assert len(vocabulary.encode(answer["text"])) == pytest.approx(len(vocabulary.encode(TEXT)) / 2, rel=0.15)


@needs("tesseract")
def test_tesseract_reads_a_printed_page(tmp_path: Path) -> None:
    lines = ["The lamp was cleaned on Thursday.", "Its number is 48213."]
    image = Image.new("L", (520, 120), 255)
    for row, line in enumerate(lines):
        ImageDraw.Draw(image).text((20, 20 + 40 * row), line, fill=0, font=ImageFont.load_default(22))
    image.save(tmp_path / "page.png")
    with Worker("tesseract", "tesseract_worker.py") as worker:
        answer = worker.ask({"id": "a", "images": [str(tmp_path / "page.png")]})
        below = worker.ask({"id": "b", "images": [str(tmp_path / "page.png")], "top": 55})
        missing = worker.ask({"id": "c", "images": [str(tmp_path / "none.png")]})
    assert answer["text"].split() == " ".join(lines).split()
    assert below["text"].split() == lines[1].split()
    assert "none.png" in missing["error"] and json.dumps(missing).count("\\n") == 0
