"""The adapter against small workers that the tests write: what a peer may do wrong ends in one line."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from eval.peers import environments
from eval.peers.adapter import Worker
from vtc.records.errors import VtcError

Make = Callable[[str], Worker]

LOOP = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    {body}
"""


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A worker that runs `body` for every request."""

    def made(body: str) -> Worker:
        script = tmp_path / "fake_worker.py"
        script.write_text(LOOP.format(body=textwrap.indent(body, "    ").strip()), encoding="utf-8")
        return Worker("fake", str(script), "--model", "a folder", python=Path(sys.executable))

    return made


ECHO = "print(json.dumps({**request, 'arguments': sys.argv[1:]}), flush=True)"


def test_answers_come_back_one_for_one(make: Make) -> None:
    with make(ECHO) as worker:
        for request in ({"id": "a", "n": [1, 2.5]}, {"id": "b", "text": "Grüße,\nsecond line \u2028 漢字 \U0001f642"}):
            assert worker.ask(request) == {**request, "arguments": ["--model", "a folder"]}


def test_a_big_request_and_much_on_standard_error_do_not_hang(make: Make) -> None:
    body = "sys.stderr.write('x' * 300_000 + '\\n')\n" + ECHO
    with make(body) as worker:
        for turn in range(3):
            request = {"id": str(turn), "ids": list(range(100_000))}
            assert worker.ask(request)["ids"] == request["ids"]


def test_an_error_is_an_answer_and_the_worker_lives_on(make: Make) -> None:
    body = "print(json.dumps({'id': request['id'], 'error': 'ValueError: too short'}), flush=True)"
    with make(body) as worker:
        assert worker.ask({"id": "a"}) == {"id": "a", "error": "ValueError: too short"}
        assert worker.ask({"id": "b"})["id"] == "b"


def one_line(worker: Worker) -> str:
    """The message that asking ends with."""
    with worker, pytest.raises(VtcError) as raised:
        worker.ask({"id": "a"})
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_a_worker_that_dies_is_quoted(make: Make) -> None:
    message = one_line(make("sys.stderr.write('first\\n')\nraise MemoryError('no room')"))
    assert message == "peer 'fake': ended with status 1 (MemoryError: no room)"


def test_a_worker_that_hangs_up_in_the_middle_of_a_line(make: Make) -> None:
    message = one_line(make("print('{\"id\": ', end='', flush=True)\nsys.exit(7)"))
    assert message == "peer 'fake': ended with status 7 in the middle of an answer (it said nothing)"


@pytest.mark.parametrize("said", ["'loading weights'", "'[1]'", "json.dumps({'id': 'another'})"])
def test_what_is_no_answer_to_the_request_is_refused(make: Make, said: str) -> None:
    assert one_line(make(f"print({said}, flush=True)")).startswith("peer 'fake': no answer to request 'a' but ")


def test_a_dead_worker_stays_dead(make: Make) -> None:
    with make("sys.exit('gone')") as worker:
        for _ in range(2):
            with pytest.raises(VtcError, match=r"ended with status 1 \(gone\)"):
                worker.ask({"id": "a"})


def test_the_process_ends_with_the_block_even_when_it_is_busy(make: Make) -> None:
    body = "print(json.dumps(request), flush=True)\nimport time\ntime.sleep(600)"
    with pytest.raises(KeyboardInterrupt), make(body) as worker:
        worker.ask({"id": "a"})
        process = worker._process
        raise KeyboardInterrupt
    assert process is not None and process.returncode is not None
    with pytest.raises(RuntimeError, match="closed"):
        worker.ask({"id": "b"})


def test_a_worker_sees_no_folder_of_ours(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a file beside it, like `environments.py`, would hide a package of the peer."""
    monkeypatch.setenv("PYTHONPATH", str(environments.HERE))
    with make("print(json.dumps({'id': request['id'], 'path': sys.path}), flush=True)") as worker:
        path = worker.ask({"id": "a"})["path"]
    assert str(environments.HERE) not in path and str(Path(worker._command[2]).parent) not in path


def test_a_peer_that_is_not_built_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VTC_CACHE", str(tmp_path))
    with pytest.raises(VtcError, match=r"^peer 'kvpress': not built; run: make peers$"):
        Worker("kvpress", "kvpress_worker.py")


def test_a_python_that_is_not_there_ends_in_one_line(tmp_path: Path) -> None:
    assert "no such file" in one_line(Worker("fake", "x.py", python=tmp_path / "python"))
