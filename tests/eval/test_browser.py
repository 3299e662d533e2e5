"""Finding a browser, and saying how to get one."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval import browser
from vtc.records.errors import VtcError


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing on its PATH but one empty folder."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("VTC_CACHE", str(tmp_path / "cache"))
    return tmp_path


def program(path: Path, lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_one_on_the_path_goes_before_the_unpacked_one(bare: Path) -> None:
    own = program(browser.unpacked() / "run", "exit 0")
    assert browser.find() == own
    there = program(bare / "bin" / "google-chrome", "exit 0")
    assert browser.find() == there == browser.ensure()


def test_without_one_the_mend_is_named(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert browser.find() is None
    assert browser.main([]) == 1
    assert "no apt-get" in capsys.readouterr().err
    with pytest.raises(VtcError, match="make browser"):
        browser.dump_dom(bare / "page.html")


def test_a_browser_that_fails_is_named(bare: Path) -> None:
    broken = program(bare / "bin" / "chromium", "echo no display >&2; exit 7")
    with pytest.raises(VtcError, match=f"{broken}: ended with status 7 .no display."):
        browser.dump_dom(bare / "page.html")


def test_an_installer_that_fails_is_named(bare: Path) -> None:
    program(bare / "bin" / "apt-get", "echo 'E: no network' >&2; exit 100")
    with pytest.raises(VtcError, match="update: E: no network"):
        browser.ensure()
