"""`vtc compress --reader kv`, `vtc info`, `vtc ask --reader kv`: a short text and the default LLM, end to end."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from vtc import api
from vtc.cli import main
from vtc.llm.frozen import FrozenLM
from vtc.readers.kv.reader import KvReader

TEXT = (
    "The harbour was built in stone. In spring the ships come in with timber and salt, and the keeper counts them. "
    "The secret code of the harbour master is 48213. Nobody else was there that day, and it rained.\n"
)
QUESTION = "What is the secret code of the harbour master?"


@pytest.fixture
def real(llm: FrozenLM, byte_level: ModuleType, monkeypatch: pytest.MonkeyPatch) -> FrozenLM:
    """The default LLM and its vocabulary, with a stand-in for its glyph table."""
    table = byte_level.Table(llm.vocabulary)
    monkeypatch.setattr(api, "load_vocabulary", lambda name: llm.vocabulary)
    monkeypatch.setattr(api, "load_table", lambda name: table)
    monkeypatch.setattr(api, "load_llm", lambda name: llm)
    return llm


def last(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text.splitlines()[-1])
    return found


def test_compress_info_and_ask(
    real: FrozenLM, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    path, before = str(tmp_path / "a.vtc"), real.fingerprint()
    made = ["compress", str(tmp_path / "a.txt"), "-o", path, "--codec", "ids", "--reader", "kv", "--ratio", "2"]
    assert main(made) == 0
    shown = capfd.readouterr().out
    assert "latents for reader kv (" in shown and " positions, position_ratio " in shown

    assert main(["info", path, "--json"]) == 0
    facts = last(capfd.readouterr().out)
    memory = facts["memory"]
    assert (memory["reader"], memory["options"]["ratio"], memory["form"]) == ("kv", 2.0, "float16")
    assert (memory["llm"], memory["fingerprint"]) == (real.name, before)
    assert facts["document_bytes"] == Path(path).stat().st_size > memory["stored_bytes"]
    assert facts["byte_ratio"] == len(TEXT) / facts["document_bytes"]
    assert main(["info", path]) == 0
    line = next(line for line in capfd.readouterr().out.splitlines() if line.startswith("memory"))
    assert "reader kv (ratio=2.0, " in line and f"made with {real.name} {before[:12]}" in line

    monkeypatch.setattr(KvReader, "remember", lambda *_: pytest.fail("the text is read again"))
    asked = ["ask", path, QUESTION, "--reader", "kv", "--max-tokens", "16", "--json"]
    assert main(asked) == 0
    output, errors = capfd.readouterr()
    stored = last(output)
    assert "48213" in stored["answer"] and "anew" not in errors
    assert stored["positions"] == memory["positions"] and stored["position_ratio"] == memory["position_ratio"]
    monkeypatch.undo()
    assert real.fingerprint() == before

    plain = api.ask(TEXT.encode(), QUESTION, reader="kv", ratio=2, model=real, max_new_tokens=16)
    assert plain["answer"] == stored["answer"] and plain["positions"] == stored["positions"]


def test_another_ratio_is_said_on_standard_error(
    real: FrozenLM, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "a.vtc")
    api.compress(TEXT.encode(), path, codec="ids", reader="kv", ratio=2, latents="int8")
    assert api.info(path)["memory"]["form"] == "int8"
    assert main(["ask", path, QUESTION, "--reader", "kv", "--ratio", "1.5", "--max-tokens", "2", "--json"]) == 0
    output, errors = capfd.readouterr()
    assert errors.splitlines()[0] == f"{path}: holds latents of ratio 2, not 1.5; they are made anew from the text"
    assert last(output)["position_ratio"] == pytest.approx(1.5, rel=0.05)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ratio", "8"], "--ratio is about a reader's latents; add --reader kv"),
        (["--latents", "int8"], "--latents is about a reader's latents; add --reader kv"),
        (["--reader", "kv", "--latents", "int2"], "--latents int2: choose float32, float16 or int8"),
        (["--reader", "kv", "--ratio", "0"], "ratio=0.0: must be at least 1"),
        (["--reader", "expand"], "reader 'expand' keeps nothing that a document can hold"),
    ],
)
def test_usage_errors_are_one_line_and_leave_no_file(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    byte_table: object,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    class Words:
        vocabulary = api.load_vocabulary("")

    monkeypatch.setattr(api, "load_llm", lambda name: Words())
    (tmp_path / "a.txt").write_text(TEXT)
    assert main(["compress", str(tmp_path / "a.txt"), "--codec", "ids", *arguments]) == 2
    errors = capfd.readouterr().err
    assert errors.startswith("vtc: ") and errors.count("\n") == 1 and message in errors
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
