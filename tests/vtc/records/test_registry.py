"""Look-up by name, and the one line that a wrong name ends in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from vtc.records.errors import UsageError, VtcError
from vtc.records.registry import CODECS, READERS, lookup


@pytest.mark.parametrize("kind, registry", [("codec", CODECS), ("reader", READERS)])
def test_every_registered_class_exists_and_knows_its_name(kind: str, registry: dict[str, str]) -> None:
    for name in registry:
        assert lookup(registry, name, kind).name == name


def test_a_near_name_is_suggested() -> None:
    with pytest.raises(UsageError, match=r"^unknown codec 'hrad'; did you mean 'hard'\? known: hard, ids$") as caught:
        lookup(CODECS, "hrad", "codec")
    assert caught.value.status == 2


def test_a_far_name_lists_what_there_is() -> None:
    with pytest.raises(UsageError, match=r"^unknown reader 'zzzz'; known: expand, kv, text$"):
        lookup(READERS, "zzzz", "reader")


def test_case_does_not_hide_the_suggestion() -> None:
    with pytest.raises(UsageError, match="did you mean 'hard'"):
        lookup(CODECS, "HARD", "codec")


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needs_extra.py").write_text("import a_package_that_is_nowhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(VtcError, match="codec 'x' needs the package 'a_package_that_is_nowhere'"):
        lookup({"x": "needs_extra:X"}, "x", "codec")


def test_a_wrong_entry_is_not_mistaken_for_a_missing_package() -> None:
    with pytest.raises(ModuleNotFoundError):
        lookup({"x": "vtc.codecs.no_such_file:X"}, "x", "codec")


def test_the_registry_imports_no_upper_layer() -> None:
    code = (
        "import sys, vtc.records.registry;"
        "sys.exit(any(m.startswith('vtc.') and not m.startswith('vtc.records') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
