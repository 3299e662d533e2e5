"""Defaults < YAML < key=value, and the errors on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from vtc.records.config import load_config, save_resolved
from vtc.records.errors import UsageError, VtcError


@dataclass
class Optimiser:
    rate: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.95)


@dataclass
class Settings:
    density: int = 64
    codec: Literal["hard", "deep"] = "hard"
    title: str = "a run"
    prior: str | None = None
    loud: bool = False
    folder: Path = Path("runs")
    widths: list[int] = field(default_factory=lambda: [576, 1280])
    optimiser: Optimiser = field(default_factory=Optimiser)


@dataclass
class Required:
    corpus: str


def test_the_last_source_wins(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("density: 32\ntitle: from yaml\noptimiser:\n  rate: 0.5\n")
    settings = load_config(Settings, path, ["density=16", "optimiser.betas=[0.8, 0.9]", "density=8"])
    assert settings.density == 8
    assert settings.title == "from yaml"
    assert settings.optimiser == Optimiser(rate=0.5, betas=(0.8, 0.9))
    assert settings.codec == "hard"


def test_no_source_gives_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("# nothing set\n")
    assert load_config(Settings) == load_config(Settings, tmp_path / "empty.yaml") == Settings()


@pytest.mark.parametrize(
    ("override", "name", "value"),
    [
        ("optimiser.rate=1e-3", "optimiser", Optimiser(rate=0.001)),
        ("optimiser.rate=2", "optimiser", Optimiser(rate=2.0)),
        ("prior=unigram", "prior", "unigram"),
        ("prior=null", "prior", None),
        ("loud=true", "loud", True),
        ("folder=out/x=y", "folder", Path("out/x=y")),
        ("widths=[1, 2, 3]", "widths", [1, 2, 3]),
        ("title='64'", "title", "64"),
    ],
)
def test_values_take_the_type_of_their_field(override: str, name: str, value: object) -> None:
    assert getattr(load_config(Settings, overrides=[override]), name) == value


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("densty=3", "unknown setting 'densty'; did you mean 'density'?"),
        ("optimiser.rte=3", "unknown setting 'optimiser.rte'; did you mean 'optimiser.rate'?"),
        ("codec=herd", "unknown codec 'herd'; did you mean 'hard'?"),
        ("density=many", "density: 'many' is not int"),
        ("density=true", "density: True is not int"),
        ("density=1.5", "density: 1.5 is not int"),
        ("title=64", "title: 64 is not str"),
        ("optimiser=5", "optimiser: 5 is not Optimiser"),
        ("optimiser.betas=[1.0]", "optimiser.betas: [1.0] is not tuple[float, float]"),
        ("density.x=1", None),
        ("density", "'density': not a setting; write key=value"),
        ("title=[", "its value is not YAML"),
    ],
)
def test_a_wrong_override_is_one_line_that_names_it(override: str, message: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        load_config(Settings, overrides=[override])
    assert (message or "density") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_key_below_a_value_is_refused() -> None:
    with pytest.raises(UsageError, match="'title' holds one value"):
        load_config(Settings, overrides=["title=x", "title.y=1"])


def test_a_missing_value_without_default_is_named() -> None:
    with pytest.raises(UsageError, match="corpus: has no default"):
        load_config(Required)


@pytest.mark.parametrize("content", ["- a\n- b\n", "a: [\n", "\xff"])
def test_a_file_that_is_no_mapping_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(VtcError, match="bad.yaml") as caught:
        load_config(Settings, path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(VtcError, match="none.yaml: no such file"):
        load_config(Settings, tmp_path / "none.yaml")


@settings(deadline=None)  # it writes files
@given(
    st.builds(
        Settings,
        density=st.integers(),
        title=st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
        prior=st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
        widths=st.lists(st.integers(), max_size=3),
        optimiser=st.builds(Optimiser, rate=st.floats(allow_nan=False)),
    )
)
def test_resolved_settings_come_back(tmp_path_factory: pytest.TempPathFactory, resolved: Settings) -> None:
    path = tmp_path_factory.mktemp("config") / "config.yaml"
    save_resolved(resolved, path)
    assert load_config(Settings, path) == resolved
    assert list(yaml.safe_load(path.read_text())) == list(Settings.__dataclass_fields__)
