"""The demo, on a small text with a model that repeats what it is given: its report tells what happened, in one file."""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from eval import demo
from eval.blocks import Table, escaped, inline
from eval.demo import Plan, main, run, topics_text
from eval.questions import TOPICS, Question, choose, find, source_of
from vtc import api
from vtc.cli.command import build_parser
from vtc.records.errors import UsageError

FILLER = "The wolf and the lamb went in; the water was warm, and neither asked why. "
TEXT = FILLER * 60 + "The secret  word is Rumpelstiltskin, which nobody guessed. " + FILLER * 60
QUESTION = Question("What is the secret word?", "secret word is", "rumpelstiltskin")
CURVE = {"density": [4, 16], "width": [128]}


@dataclass(frozen=True)
class Seen:
    """In place of a key/value cache: the ids that were read."""

    ids: np.ndarray

    def get_seq_length(self) -> int:
        return len(self.ids)


class Echo:
    """A model that answers with what it was given."""

    name, window = "echo", 4096

    def __init__(self, words: object) -> None:
        self.vocabulary, self.checked = words, 0

    def chat(self, user: str) -> np.ndarray:
        return self.vocabulary.encode(user)  # type: ignore[attr-defined]

    def chat_around(self, before: str, after: str) -> tuple[np.ndarray, np.ndarray]:
        return self.chat(before), self.chat(after)

    def generate(self, ids: np.ndarray, count: int, cache: Seen | None = None) -> Iterator[bytes]:
        yield self.vocabulary.decode(ids if cache is None else [*cache.ids, *ids])  # type: ignore[attr-defined]

    def prefill(self, ids: np.ndarray) -> Seen:
        assert 1 <= len(ids) <= 1024 + len("Read this text.\n\n")  # a page, and what stands before it
        return Seen(ids)

    @contextmanager
    def frozen(self) -> Iterator[Echo]:
        yield self
        self.checked += 1


@pytest.fixture
def model(byte_table: object, byte_level: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Echo:
    echo = Echo(byte_level.vocabulary())
    monkeypatch.setattr(api, "load_llm", lambda spec: echo)
    monkeypatch.setattr("vtc.measuring.runs.check_llm", lambda spec: None)
    monkeypatch.setattr(demo, "CURVE", CURVE)
    return echo


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "tale.txt").write_text(TEXT)
    return tmp_path / "tale.txt"


def test_the_report_tells_what_happened(model: Echo, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    page = run(Plan(out, text, [QUESTION], sample_pages=2))
    html, markdown = page.read_text(), (out / "report.md").read_text()
    found = json.loads((out / "demo.json").read_text())
    assert (out / "restored.txt").read_text() == TEXT and model.checked == 1
    assert found["record"]["exact"] is True and found["record"]["text_bytes"] == len(TEXT)
    assert [record["density"] for record in found["curve"]] == [4, 16] and found["curve"][0]["pages"] == 2
    (answered,) = found["answered"]
    assert answered["source"]["sentence"] == "The secret word is Rumpelstiltskin, which nobody guessed."
    assert answered["pages"] == answered["source"]["pages"] and answered["pages"][0] > 1
    assert "Rumpelstiltskin" in answered["document"]["answer"] and "Rumpelstiltskin" in answered["page"]["answer"]
    rights = re.findall(r"<td>(yes|no|-)</td>", html)
    assert rights == ["yes", "yes", "no"]
    for shown in (html, markdown):
        assert f"{found['record']['latents']} latents" in shown
        for key in ("document_bytes", "text_tokens", "zstd19_bytes", "raw_ids_bytes", "processor"):
            assert str(found["record"][key]) in shown
        for name in ("latent_ratio", "byte_ratio", "position_ratio"):
            assert name in shown
        assert f"{found['record']['latent_ratio']:.1f}:1" in shown and "Rumpelstiltskin" in shown
        assert f"n = {found['record']['pages']}" in shown and "seed" in shown


def test_the_html_stands_alone_and_the_markdown_finds_its_pictures(model: Echo, text: Path, tmp_path: Path) -> None:
    page = run(Plan(tmp_path / "out", text, [QUESTION], sample_pages=2))
    html, markdown = page.read_text(), page.with_suffix(".md").read_text()
    assert re.findall(r'(?:src|href)="(?!data:image/png;base64,)', html) == []
    inside = [base64.b64decode(data) for data in re.findall(r"data:image/png;base64,([^\"]+)", html)]
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", markdown)
    assert len(pictures) == 2 and [(page.parent / path).read_bytes() for path in pictures] == inside


def test_the_commands_are_ones_that_vtc_knows(model: Echo, text: Path, tmp_path: Path) -> None:
    run(Plan(tmp_path / "out", text, [QUESTION], sample_pages=2))
    commands = json.loads((tmp_path / "out" / "demo.json").read_text())["commands"]
    assert shlex.split(commands[0])[:4] == ["python", "-m", "eval.demo", str(text)]
    verbs = []
    for line in commands[1:]:
        program, *words = shlex.split(line)
        verbs.append(build_parser().parse_args(words).verb)
        assert program == "vtc"
    assert verbs == ["compress", "restore", "measure", "measure", "pages", "read", "ask"]


def test_a_file_without_questions_skips_them_and_says_how(
    model: Echo, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(text), "-o", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert '--question "..."' in shown and str(tmp_path / "out" / "report.html") in shown
    assert "--question" in (tmp_path / "out" / "report.md").read_text()
    assert main([str(text), "-o", str(tmp_path / "out"), "--question", "Who is warm?"]) == 0  # again, into the same
    (answered,) = json.loads((tmp_path / "out" / "demo.json").read_text())["answered"]
    assert answered["source"] is None and "Who is warm?" in answered["page"]["answer"]


def test_bad_files_are_one_line(model: Echo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").write_bytes(b"")
    for name, status in (("empty", 2), ("absent", 1), (".", 1)):
        assert main([str(tmp_path / name), "-o", str(tmp_path / "out")]) == status
        assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(UsageError):
        run(Plan(tmp_path / "out", tmp_path / "empty"))


def test_this_python_has_answers_to_three_questions() -> None:
    text = topics_text().decode()
    chosen = choose(text, TOPICS)
    assert len(chosen) == 3
    for question in chosen:
        place = find(text, question.phrase or "")
        assert place is not None and question.answer is not None
        assert question.answer in " ".join(text[slice(*place)].split())


def test_a_sentence_and_its_page_are_found() -> None:
    text = "First one.  Second\n one is\nlong! Third.\n\nA paragraph"
    assert text[slice(*(find(text, "one is") or ()))] == "Second\n one is\nlong!"
    assert text[slice(*(find(text, "A para") or ()))] == "A paragraph"
    assert find(text, "absent") is None and find(text, "First") == (0, 10)
    spans = np.array([0, 14, 36, len(text)])
    source = source_of(text, spans, "one is")
    assert source is not None and (source.sentence, source.pages) == ("Second one is long!", (1, 2))
    assert source_of(text, spans, None) is None


def test_blocks_are_escaped() -> None:
    assert inline("a < `b < c` **d**") == "a &lt; <code>b &lt; c</code> <b>d</b>"
    assert escaped("a | b_c *d* _e_\nf") == r"a \| b_c \*d\* \_e\_ f"
    table = Table(("x", "y"), [("<b>", "1.5"), ("-", "2:1")])
    assert "&lt;b&gt;" in table.html(Path()) and table.numeric(1) and not table.numeric(0)
    assert table.markdown().splitlines()[1:3] == ["| --- | --: |", r"| \<b\> | 1.5 |"]


@pytest.mark.slow
def test_the_whole_demo(tmp_path: Path) -> None:
    assert main(["-o", str(tmp_path / "out")]) == 0
    found = json.loads((tmp_path / "out" / "demo.json").read_text())
    assert found["record"]["exact"] is True and len(found["answered"]) == 3
    for answered in found["answered"]:
        assert answered["question"]["answer"].casefold() in answered["document"]["answer"].casefold()
