"""The model `vtc` of lm-evaluation-harness: two tiny tasks through readers, beside the harness's own model."""

from __future__ import annotations

import json
import socket
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("lm_eval", reason="lm-evaluation-harness is missing; install it: pip install 'vtc-llm[lm-eval]'")

import lm_eval
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager

from eval.harness.__main__ import main
from eval.harness.model import ROLLING_BLOCK, VtcLM, grouped, until
from vtc.llm.frozen import FrozenLM
from vtc.records.errors import UsageError, VtcError

FILLER = "The wolf and the lamb went down to the water, which was warm, and neither asked why they went. "
ROWS = [
    {"passage": f"{FILLER}The code of {name} is {code}. {FILLER}", "name": name, "code": code}
    for name, code in (("Anna", "4711"), ("Bruno", "2093"), ("Clara", "8856"))
]
TEXT = 'doc_to_text: "{{passage}}\\nWhat is the code of {{name}}?\\nThe code of {{name}} is"'
TASKS = {
    "tiny_choice": f"""
output_type: multiple_choice
{TEXT}
doc_to_choice: ["4711", "2093", "8856 and no other", "8856"]
doc_to_target: code
metric_list: [{{metric: acc}}]
""",
    "tiny_answer": f"""
output_type: generate_until
{TEXT}
doc_to_target: " {{{{code}}}}"
generation_kwargs: {{until: ["\\n", ". "], max_gen_toks: 12}}
metric_list: [{{metric: exact_match}}]
""",
    "tiny_rolling": """
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{passage * 3}}"
metric_list: [{metric: word_perplexity}]
""",
}


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No way out: neither by the settings of the libraries, nor by a socket."""
    import datasets

    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "datasets")
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("the harness went to the network"))


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A folder with the tasks and their data."""
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    for name, body in TASKS.items():
        data = (
            f"dataset_path: json\ndataset_kwargs: {{data_files: {{test: '{folder}/rows.jsonl'}}}}\ntest_split: test\n"
        )
        (folder / f"{name}.yaml").write_text(f"task: {name}\n{data}{body.lstrip()}")
    return folder


def answers(
    model: Any, tasks: Path, names: tuple[str, ...] = tuple(TASKS), limit: int | None = None
) -> dict[str, list[Any]]:
    """What a model answered to each request of each task."""
    manager = TaskManager(include_path=tasks, include_defaults=False)
    found = lm_eval.simple_evaluate(model, tasks=list(names), task_manager=manager, bootstrap_iters=0, limit=limit)
    assert found is not None
    return {name: [answer for row in found["samples"][name] for (answer,) in row["resps"]] for name in names}


def own(folder: Path) -> HFLM:
    """The harness's own model."""
    return HFLM(pretrained=str(folder), device="cpu", dtype="float32", batch_size=1)


def check_choices(found: list[Any], expected: list[Any], without: list[Any]) -> None:
    """Likelihoods and greediness are equal, and other than those without the document."""
    for (likelihood, greedy), (other, also), (blind, _) in zip(found, expected, without, strict=True):
        assert likelihood == pytest.approx(other, abs=1e-3) and greedy == also
        assert abs(likelihood - blind) > 0.01


def test_the_whole_text_scores_as_the_harness_own_model(tiny: FrozenLM, tiny_folder: Path, tasks: Path) -> None:
    with tiny.frozen():
        text, none = (answers(VtcLM(tiny, reader), tasks) for reader in ("text", None))
    expected = answers(own(tiny_folder), tasks)
    check_choices(text["tiny_choice"], expected["tiny_choice"], none["tiny_choice"])
    assert text["tiny_answer"] == expected["tiny_answer"] != none["tiny_answer"]
    assert text["tiny_rolling"] == pytest.approx(expected["tiny_rolling"], rel=1e-5)
    assert none["tiny_rolling"] != pytest.approx(expected["tiny_rolling"], rel=1e-3)


def test_the_default_llm_scores_as_in_the_harness_own_model(llm: FrozenLM, llm_folder: Path, tasks: Path) -> None:
    names = ("tiny_choice", "tiny_answer")
    text, none, expected = (
        answers(model, tasks, names, limit=1)
        for model in (VtcLM(llm, "text", 24), VtcLM(llm, "none", 24), own(llm_folder))
    )
    check_choices(text["tiny_choice"], expected["tiny_choice"], none["tiny_choice"])
    assert [greedy for _, greedy in text["tiny_choice"]] == [True, False, False, False]
    assert text["tiny_answer"] == expected["tiny_answer"] != none["tiny_answer"]


def test_every_request_gets_its_own_answer_and_a_document_is_read_once(
    tiny: FrozenLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    prefill = tiny.prefill
    monkeypatch.setattr(tiny, "prefill", lambda ids: (reads.append(len(ids)), prefill(ids))[1])
    model = VtcLM(tiny, "truncate", tail=5, ratio=4)
    contexts = ["the lamb went away to the river" + tail for tail in ("12345", "54321")] + ["short", "the wolf " * 9]
    requests = [ask("loglikelihood", context, end) for end in (" a", " be") for context in contexts]
    found = model.loglikelihood(requests)
    assert reads == [1 + round(74 / 4), 1 + round(30 / 4)]  # the longest first; "short" is read as it is
    for request, (likelihood, _) in zip(requests, found, strict=True):
        ids = np.array(model.tok_encode(request.args[0].rstrip()))
        end = np.array(model.tok_encode(" " * request.args[0].endswith(" ") + request.args[1]))
        document, tail = ids[1:-5], ids[-5:]
        kept = document[len(document) - round(len(document) / 4) :] if len(document) else document
        given = np.concatenate([ids[:1], kept, tail]) if len(document) else ids
        expected = -tiny.nll(np.concatenate([given, end]), len(given)).sum().item()
        assert likelihood == pytest.approx(expected, abs=1e-3)
    info = model.get_model_info()
    assert (info["document_tokens"], info["positions"], info["plain_tokens"]) == (74 + 2 * 30, 18 + 2 * 8, 3 * 6 + 5)
    assert info["position_ratio"] == pytest.approx(134 / 34)


def ask(kind: str, *arguments: Any) -> Instance:
    return Instance(kind, {}, arguments, 0)  # type: ignore[arg-type]


@pytest.mark.parametrize("reader", ["text", "truncate:ratio=2", "none"])
def test_a_text_is_scored_in_blocks_after_what_is_held_of_all_before(tiny: FrozenLM, reader: str) -> None:
    text = "the wolf " * (ROLLING_BLOCK // 8)
    (found,) = VtcLM(tiny, reader, tail=10).loglikelihood_rolling([ask("loglikelihood_rolling", text)])
    ids = np.array([tiny.start, *tiny.vocabulary.encode(text)])
    before, rest = ids[: 1 + ROLLING_BLOCK], ids[1 + ROLLING_BLOCK :]
    document = before[1:-10]
    kept = {"text": document, "truncate:ratio=2": document[len(document) // 2 :], "none": document[:0]}[reader]
    given = np.concatenate([before[:1], kept, before[-10:]])
    expected = tiny.nll(before, 1).sum() + tiny.nll(np.concatenate([given, rest]), len(given)).sum()
    assert found == pytest.approx(-expected.item(), rel=1e-5)


def test_a_reader_of_questions_is_asked_the_tail(tiny: FrozenLM) -> None:
    model = VtcLM(tiny, "expand:tokens=64,passage_bytes=64", tail=20)
    context = "Nobody went there. " * 9 + "The river is deep. " + "Nobody came. " * 9 + "How deep is a river?"
    prompt, cache = model._given(np.array(model.tok_encode(context), np.int32), 3)
    shown = tiny.vocabulary.decode(prompt).decode()
    assert cache is None and "The river is deep." in shown and "briefly: How deep is a river?<|end|>" in shown
    (found,) = model.loglikelihood([ask("loglikelihood", context, "No")])
    expected = tiny.nll(np.concatenate([prompt, tiny.vocabulary.encode("No")]), len(prompt)).sum().item()
    assert found[0] == pytest.approx(-expected, abs=1e-3)
    with pytest.raises(UsageError, match="'expand' needs a question"):
        model.loglikelihood_rolling([ask("loglikelihood_rolling", context)])


def test_answers_end_at_their_stops(tiny: FrozenLM) -> None:
    model = VtcLM(tiny, "text", tail=3)
    context = "the wolf went away"
    whole = b"".join(tiny.generate(model.tok_encode(context), 20)).decode(errors="replace")
    stop = whole[4:6]
    settings = [
        {"until": [], "max_gen_toks": 20},
        {"until": [stop, ""], "max_gen_toks": 20},
        {"until": stop, "max_gen_toks": 20, "do_sample": False},
        {"until": ["not in it"], "max_gen_toks": 2},
    ]
    found = model.generate_until([ask("generate_until", context, setting) for setting in settings])
    cut = whole.split(stop)[0]
    short = b"".join(tiny.generate(model.tok_encode(context), 2)).decode(errors="replace")
    assert found == [whole, cut, cut, short]
    with pytest.raises(UsageError, match="answers greedily"):
        model.generate_until([ask("generate_until", context, {"until": [], "do_sample": True, "temperature": 0.7})])


def test_tokens_are_taken_up_to_the_one_that_ends_a_stop() -> None:
    tokens = iter([b"a\xc3", b"\xa9 S", b"TO", b"P x", b"never"])
    assert until(tokens, ["STOP"]) == "a\u00e9 STOP x" and next(tokens) == b"never"


def test_contexts_with_one_document_stand_together() -> None:
    contexts = [[9, 1, 2, 8, 8], [9], [9, 4, 4, 4, 8, 8], [9, 1, 2, 7, 7], [9, 1, 2, 8, 8], [9, 1, 3, 8, 8]]
    found = [(ids.tolist(), numbers) for ids, numbers in grouped(contexts, 2)]
    assert found[0] == ([9, 4, 4, 4, 8, 8], [2]) and ([9, 1, 2, 8, 8], [0, 4]) in found
    assert [ids[1:-2] for ids, _ in found] == [[4, 4, 4], [1, 2], [1, 2], [1, 3], []]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reader": "trunkate"}, "did you mean 'truncate'"),
        ({"reader": "truncate", "ratoi": 8}, "did you mean 'ratio'"),
        ({"reader": "truncate:ratio=0"}, "ratio=0: must be at least 1"),
        ({"tail": 0}, "tail=0"),
        ({"tail": "x"}, "tail=x"),
    ],
)
def test_arguments_that_cannot_be(tiny: FrozenLM, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        VtcLM(tiny, **options)


def test_a_document_that_does_not_fit_is_one_line(tiny: FrozenLM) -> None:
    with pytest.raises(VtcError, match=r"the context of a request: takes 18\d\d tokens .* window of tiny is 1200"):
        VtcLM(tiny, "text").loglikelihood([ask("loglikelihood", "the wolf " * 210, " a")])


def test_the_command_line_prints_the_table(
    tiny_folder: Path, tasks: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--include-path", str(tasks), "--llm", str(tiny_folder), "--limit", "1"]
    readers = ["--reader", "truncate:ratio=8", "--tail", "9"]
    monkeypatch.setattr("lm_eval.tasks.TaskManager", partial(TaskManager, include_defaults=False))  # there are 15,000
    assert main(["--tasks", "tiny_choice", "tiny_answer", *arguments, *readers, "--json"]) == 0
    *shown, line = capsys.readouterr().out.rstrip("\n").split("\n")
    record = json.loads(line)
    assert any("tiny_choice" in row and "acc" in row for row in shown)
    assert f"position_ratio {record['config']['position_ratio']:.1f}:1" in shown[-1]
    assert record["results"]["tiny_answer"]["exact_match,none"] == 0
    assert record["config"]["position_ratio"] == pytest.approx(8, rel=0.02)  # the budgets are whole tokens
    assert record["config"]["reader"] == "truncate"
    assert main(["--tasks", "tiny_choise", *arguments]) == 2
    assert capsys.readouterr().err == "eval.harness: unknown task 'tiny_choise'; did you mean 'tiny_choice'?\n"
    (tasks / "rows.jsonl").unlink()
    assert main(["--tasks", "tiny_choice", *arguments]) == 1
    assert "data could not be loaded" in capsys.readouterr().err.splitlines()[-1]


def test_the_harness_knows_it_by_name(tiny_folder: Path, tasks: Path) -> None:
    manager = TaskManager(include_path=tasks, include_defaults=False)
    found = lm_eval.simple_evaluate(
        "vtc",
        f"llm={tiny_folder},reader=none,tail=7",
        tasks=["tiny_choice"],
        task_manager=manager,
        bootstrap_iters=0,
        batch_size=4,
    )
    assert found is not None and found["config"]["reader"] == "none" and found["config"]["tail"] == 7
