"""When an environment is built anew, and what a failure leaves; nothing is fetched."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from eval.peers import environments
from vtc.records.errors import VtcError

WORKER = "import sys\nprint('toy 1.0', '--check' in sys.argv, end='')\n"


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of peers that holds one, `toy`, which needs no package."""
    here = tmp_path / "peers"
    (here / "requirements").mkdir(parents=True)
    (here / "requirements" / "toy.txt").write_text("# nothing\n", encoding="utf-8")
    (here / "toy_worker.py").write_text(WORKER, encoding="utf-8")
    monkeypatch.setattr(environments, "HERE", here)
    monkeypatch.setenv("VTC_CACHE", str(tmp_path / "cache"))
    return here


def test_a_peer_is_built_once_and_anew_for_other_requirements(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(VtcError, match="peer 'toy': not built; run: make peers"):
        environments.python_of("toy")
    assert environments.main([]) == 0
    assert environments.main(["toy"]) == 0
    assert capsys.readouterr().out == "toy: built (toy 1.0 True)\ntoy: up to date (toy 1.0 True)\n"
    assert environments.versions("toy") == "toy 1.0 True"
    command = [str(environments.python_of("toy")), "-c", "import sys; print('\\n'.join(sys.path))"]
    path = environments.run("toy", command).splitlines()
    own = next(at for at, entry in enumerate(path) if entry.startswith(str(environments.folder_of("toy").resolve())))
    for shared in environments.shared_folders():
        assert own < path.index(shared), "its own packages come first"

    (toy / "requirements" / "toy.txt").write_text("# nothing, said differently\n", encoding="utf-8")
    with pytest.raises(VtcError, match="not built"):
        environments.versions("toy")


def stamped() -> Path:
    """A finished environment made by hand, its Python ours."""
    python = environments.interpreter(environments.folder_of("toy"))
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    content = {"key": environments.key("toy"), "versions": "toy 1.0"}
    (environments.folder_of("toy") / environments.STAMP).write_text(json.dumps(content), encoding="utf-8")
    return python


def test_the_stamp_holds_for_what_it_was_made_from(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = stamped()
    assert environments.python_of("toy") == python
    for attribute, value in (("version", "4.0"), ("path", [*sys.path, str(toy / "site-packages")])):
        (toy / "site-packages").mkdir(exist_ok=True)
        with monkeypatch.context() as changed:
            changed.setattr(sys, attribute, value)
            assert environments.stamp("toy") is None, f"another sys.{attribute}"
    for damaged in ("", "[]", "{}"):
        (environments.folder_of("toy") / environments.STAMP).write_text(damaged, encoding="utf-8")
        assert environments.stamp("toy") is None


def test_a_peer_whose_check_fails_is_built_again(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a package that it shared with us is gone."""
    stamped()

    def fill(name: str, folder: Path) -> str:
        folder.mkdir()
        return f"{name} 2.0"

    monkeypatch.setattr(environments, "fill", fill)
    (toy / "toy_worker.py").write_text("import there_is_no_such_package\n", encoding="utf-8")
    assert environments.build("toy") == "toy: built (toy 2.0)"


def test_what_cannot_be_built_says_why_and_leaves_nothing(
    toy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fill(name: str, folder: Path) -> str:
        folder.mkdir()
        return environments.run(name, [sys.executable, "-c", "print('ERROR: no such package'); print('bye'); exit(1)"])

    monkeypatch.setattr(environments, "fill", fill)
    assert environments.main([]) == 1
    message = capsys.readouterr().out
    assert message.startswith("toy: cannot (peer 'toy': ") and message.endswith("failed: ERROR: no such package)\n")
    assert message.count("\n") == 1
    assert not environments.folder_of("toy").exists()


def test_an_unknown_peer_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert environments.main(["kvpres"]) == 2
    assert "did you mean 'kvpress'?" in capsys.readouterr().err


def test_every_peer_has_a_worker_and_pinned_requirements() -> None:
    assert environments.names()
    for name in environments.names():
        assert (environments.HERE / f"{name}_worker.py").is_file()
        lines = (environments.HERE / "requirements" / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        assert all("==" in line for line in lines if line and not line.startswith("#"))
