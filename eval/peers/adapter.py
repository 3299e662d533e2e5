"""The one way in which a peer is driven: a process in the peer's own environment, JSON lines in and out.

    with Worker("kvpress", "kvpress_worker.py", "--model", str(folder)) as worker:
        answer = worker.ask({"id": "a", "system": "snapkv", "ratio": 8.0, ...})

`README.md` beside this file has the requests and answers of each peer.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from eval.peers.environments import HERE, python_of
from vtc.records.artefact import explain
from vtc.records.errors import VtcError

PATIENCE = 5.0
"""Seconds that a worker has to end once nobody listens."""

OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "TOKENIZERS_PARALLELISM": "false"}
"""A worker gets its model from a local folder and looks for nothing on a hub."""


class Worker:
    """A peer's process: started by the first request, ended by `close` or by the end of a `with` block."""

    def __init__(self, name: str, script: str, *arguments: str, python: Path | None = None) -> None:
        """Find the environment of a peer; nothing is started yet.

        Args:
            name: of the peer.
            script: its worker, a file in this folder.
            arguments: of the worker, for example "--model", FOLDER.
            python: interpreter to run it with; default: that of the peer's environment.

        Raises:
            VtcError: the peer is not built.
        """
        self.name = name
        # -I: neither PYTHONPATH nor this folder, whose files could hide a package of the peer, is on the path.
        self._command = [str(python or python_of(name)), "-I", str(HERE / script), *arguments]
        self._process: subprocess.Popen[str] | None = None
        # A file and not a pipe: whatever a library has to say never fills it up and stops the worker.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, whatever it is doing; there is no more to ask then."""
        self._errors.close()
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(BrokenPipeError):  # of a request that was never read
                if stream is not None:
                    stream.close()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send one request and wait for its answer.

        Args:
            request: JSON-able, with an `id`.

        Returns:
            The answer; one that the peer could not give has `error`, one line, beside the same `id`.

        Raises:
            VtcError: the worker cannot be started, or died (with its last line on standard error), or wrote what is no
                answer to this request.
        """
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line.endswith("\n"):
            raise VtcError(f"peer '{self.name}': {self._end(process, line)}")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or answer.get("id") != request["id"]:
            raise VtcError(f"peer '{self.name}': no answer to request {request['id']!r} but {line.strip()[:100]!r}")
        return answer

    def _running(self) -> subprocess.Popen[str]:
        """The process, started if it is not yet."""
        if self._errors.closed:
            raise RuntimeError(f"the worker of '{self.name}' was closed")
        if self._process is None:
            try:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._errors,
                    env={**os.environ, **OFFLINE},
                    text=True,
                    encoding="utf-8",
                )
            except OSError as error:
                raise VtcError(f"peer '{self.name}': {explain(error, self._command[0])}") from error
        return self._process

    def _end(self, process: subprocess.Popen[str], line: str) -> str:
        """How the worker ended, in one line."""
        try:
            status = f"with status {process.wait(PATIENCE)}"
        except subprocess.TimeoutExpired:
            status = "its output"
        self._errors.seek(0)
        said = [text.strip() for text in self._errors.read().decode("utf-8", "replace").splitlines() if text.strip()]
        where = " in the middle of an answer" if line else ""
        return f"ended {status}{where} ({said[-1] if said else 'it said nothing'})"
