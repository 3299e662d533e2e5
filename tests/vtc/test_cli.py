"""The command line: exit statuses, one-line errors, and JSON as the last line of standard output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from vtc import api
from vtc.cli import main
from vtc.cli.command import VERBS
from vtc.cli.common import human_bytes

ROOT = Path(__file__).parents[2]
BYTE_LEVEL = str(ROOT / "tests" / "byte_level.py")
TEXT = ("Their wolves were there, and the lamb thought about it. " * 100).encode()


def run(*arguments: object, program: str = "-mvtc.cli", data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, *program.split(), *map(str, arguments)]
    return subprocess.run(command, input=data, capture_output=True, cwd=ROOT, env={"PYTHONPATH": str(ROOT)})


@pytest.fixture
def document(tmp_path: Path, byte_table: object) -> Path:
    api.compress(TEXT, tmp_path / "a.vtc", codec="ids", page_symbols=100)
    return tmp_path / "a.vtc"


def test_compress_restore_and_info(tmp_path: Path, byte_table: object, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_bytes(TEXT)
    assert main(["compress", str(tmp_path / "a.txt"), "--codec", "ids", "--json"]) == 0
    made = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert made["document"] == str(tmp_path / "a.txt.vtc") and made["seconds"] > 0
    assert main(["restore", made["document"], "-o", str(tmp_path / "b.txt"), "--json"]) == 0
    restored = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert restored["exact"] is True and restored["failed_pages"] == [] and restored["pages"] == made["pages"]
    assert (tmp_path / "b.txt").read_bytes() == TEXT
    assert main(["info", made["document"], "--json"]) == 0
    assert {**json.loads(capfd.readouterr().out), "seconds": made["seconds"]} == made
    assert main(["info", made["document"]]) == 0
    assert "byte_ratio" in capfd.readouterr().out


def test_the_text_goes_to_standard_output(document: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert main(["restore", str(document)]) == 0
    assert capfdbinary.readouterr() == (TEXT, b"")
    assert main(["restore", str(document), "--json"]) == 0
    text, _, line = capfdbinary.readouterr().out.rstrip(b"\n").rpartition(b"\n")
    assert text == TEXT and json.loads(line)["exact"] is True


def test_standard_input_and_output_as_a_process(document: Path) -> None:
    made = run("compress", "-", "-o", "-", "--codec", "ids", "--page-symbols", "100", program=BYTE_LEVEL, data=TEXT)
    assert made.returncode == 0 and made.stdout == document.read_bytes()
    assert made.stderr.startswith(b"-: 5.6 kB") and made.stderr.count(b"\n") == 1
    again = run("restore", "-", program=BYTE_LEVEL, data=made.stdout)
    assert (again.returncode, again.stdout, again.stderr) == (0, TEXT, b"")


def test_a_damaged_page_is_exit_status_3_and_partial_still_writes(
    document: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data = bytearray(document.read_bytes())
    data[8 + int.from_bytes(data[:8], "little")] ^= 1
    document.write_bytes(data)
    out = tmp_path / "out"
    assert main(["restore", str(document), "-o", str(out), "--json"]) == 3
    output, errors = capfd.readouterr()
    last = json.loads(output.splitlines()[-1])
    assert (last["status"], last["failed_pages"], out.exists()) == (3, [1], False)
    assert errors.startswith(f"vtc: {document}: page 1 of ") and errors.count("\n") == 1
    assert main(["restore", str(document), "-o", str(out), "--partial"]) == 3
    assert len(out.read_bytes()) == len(TEXT)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["compres", "x"],
        ["compress"],
        ["compress", "-"],
        ["compress", "x", "--density", "many"],
        ["compress", "x", "-o", "-", "--json"],
        ["restore", "x", "--artifacts", "no/such/folder"],
        ["ls", "no/such/folder"],
    ],
)
def test_usage_errors_are_one_line_and_exit_status_2(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(arguments)
    except SystemExit as stop:
        status = int(str(stop.code))
    errors = capfd.readouterr().err
    assert status == 2 and errors.startswith("vtc") and errors.count("\n") == 1


def test_options_reach_the_codec_only_when_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, byte_table: object, capfd: pytest.CaptureFixture[str]
) -> None:
    seen: dict[str, object] = {}
    real = api.build_codec

    def spy(name: str, table: object, options: dict[str, object]) -> object:
        seen.update(options)
        return real("ids", table, {})

    monkeypatch.setattr(api, "build_codec", spy)
    (tmp_path / "a").write_bytes(TEXT)
    given = ["--density", "8", "--width", "256", "--storage", "int4", "--alphabet", "page", "--prior", "none"]
    assert main(["compress", str(tmp_path / "a"), *given, "--no-verify"]) == 0
    wanted = {"density": 8, "width": 256, "storage": "int4", "alphabet": "page", "prior": "none", "verify": False}
    assert seen == wanted
    monkeypatch.setattr(api, "build_codec", real)
    assert main(["compress", str(tmp_path / "a"), "--codec", "ids", "--density", "8"]) == 2
    assert "unknown option of codec 'ids' 'density'" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 1, ""),
        (MemoryError(), 1, "not enough memory"),
        (OSError(28, "No space left on device"), 1, "standard output: the disk is full"),
        (RuntimeError("two\nlines"), 1, "unexpected RuntimeError: two lines"),
    ],
)
def test_whatever_is_raised_ends_in_a_status_and_at_most_one_line(
    error: BaseException, status: int, words: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(api, "info", fail)
    monkeypatch.setattr("vtc.cli.command._hush", lambda: None)
    assert main(["info", "x"]) == status
    errors = capfd.readouterr().err
    assert words in errors and errors.count("\n") == (1 if words else 0) and "Traceback" not in errors
    if words:
        assert main(["info", "x", "--debug"]) == status
        assert "Traceback" in capfd.readouterr().err


def test_a_reader_that_goes_away_is_met_quietly(tmp_path: Path, byte_table: object) -> None:
    api.compress(TEXT * 200, tmp_path / "big.vtc", codec="ids")
    command = [sys.executable, BYTE_LEVEL, "restore", str(tmp_path / "big.vtc")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""


def test_help_starts_without_the_heavy_libraries_and_shows_examples() -> None:
    code = "import sys, vtc.cli.command as c; c.build_parser(); print({'torch', 'transformers'} & set(sys.modules))"
    assert run("-c", code, program="").stdout == b"set()\n"
    for verb in VERBS:
        shown = run(verb, "--help")
        assert shown.returncode == 0 and f"example:\n  vtc {verb}".encode() in shown.stdout


def test_ls_lists_documents_and_artefacts(document: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.vtc").write_bytes(b"nothing")
    (tmp_path / "artifacts").mkdir()
    assert main(["ls", str(tmp_path), "--json", "--artifacts", str(tmp_path / "artifacts")]) == 0
    found = json.loads(capfd.readouterr().out)
    assert [(Path(e["path"]).name, e["kind"]) for e in found["documents"]] == [
        ("a.vtc", "document"),
        ("bad.vtc", "unreadable"),
    ]
    assert found["documents"][0]["bytes"] == document.stat().st_size and found["artefacts"] == []


def test_doctor_says_what_is_missing_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, byte_table: object, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VTC_CACHE", str(tmp_path / "not" / "made" / "yet"))
    assert main(["doctor", "--json"]) == 1  # the LLM is not there
    found = {check["name"]: check for check in json.loads(capfd.readouterr().out)["checks"]}
    assert found["llm"]["state"] == "missing" and "python -m vtc.llm.smollm2" in found["llm"]["mend"]
    assert {found[name]["state"] for name in ("python", "cache", "glyph table")} == {"ok"}
    monkeypatch.setattr("vtc.llm.smollm2.intact", lambda folder: True)
    monkeypatch.setattr("vtc.cli.doctor.packages", lambda: iter(()))
    assert main(["doctor"]) == 0
    assert "everything needed is here" in capfd.readouterr().out


def test_sizes_for_people() -> None:
    assert [human_bytes(n) for n in (0, 999, 1000, 1234567, 5 * 10**12)] == [
        "0 bytes",
        "999 bytes",
        "1.0 kB",
        "1.2 MB",
        "5000.0 GB",
    ]
