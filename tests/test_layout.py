"""Habits that a reader can rely on: sizes of files, and names that shadow nothing."""

from __future__ import annotations

import sys
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = [name for name in ("vtc", "render", "codebooks", "train", "eval") if (ROOT / name).is_dir()]
SOURCES = [path for folder in [*PACKAGES, "tests"] for path in (ROOT / folder).rglob("*.py")]


def test_no_file_is_longer_than_400_lines() -> None:
    long = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {name: lines for name, lines in long.items() if lines > 400} == {}


def test_no_module_is_named_after_another_project_or_the_standard_library() -> None:
    """A script started by path puts its own folder first on the path, and would import itself."""
    installed = {
        name for name, projects in packages_distributions().items() if any(project != "vtc-llm" for project in projects)
    }
    taken = sys.stdlib_module_names | (installed - set(PACKAGES))
    modules = [path for path in SOURCES if path.name != "__init__.py"]
    assert [str(path.relative_to(ROOT)) for path in modules if path.stem in taken] == []


def test_names_of_test_files_are_unique() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert len(names) == len(set(names))
