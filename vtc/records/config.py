"""Settings: a dataclass's defaults, then a YAML file, then `key=value` from the command line; the last one wins.

A key that the dataclass lacks is an error that names the nearest one. A nested dataclass is a YAML mapping, and a dot
on the command line: `codec.density=64`. Values are parsed as YAML and checked against the field's annotation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, asdict, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml

from vtc.records.artefact import atomic_write, explain
from vtc.records.errors import UsageError, VtcError
from vtc.records.suggest import unknown

Config = TypeVar("Config")


def load_config(
    cls: type[Config],
    path: str | Path | None = None,
    overrides: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
) -> Config:
    """Build `cls` from its defaults < the YAML file at `path` < `settings` < `overrides`.

    Args:
        cls: a dataclass; its fields may be bool, int, float, str, Path, Literal, list, tuple, dict, a union of these,
            or another dataclass.
        path: YAML file with one mapping; an empty file changes nothing.
        overrides: `key=value` each, in order.
        settings: values by key, as a YAML file would give them.

    Raises:
        UsageError: an unknown key, a value of the wrong type, a missing value without default, or a text without `=`.
        VtcError: the file is missing or not YAML.
    """
    found: dict[str, Any] = _read_yaml(Path(path)) if path is not None else {}
    found.update(settings or {})
    return _build(cls, parse_overrides(overrides, found), "")


def parse_overrides(overrides: Sequence[str], settings: dict[str, Any] | None = None) -> dict[str, Any]:
    """`key=value` texts as nested mappings, on top of `settings` where they are given.

    Raises:
        UsageError: a text without `=`, a value that is not YAML, or a key below a single value.
    """
    found = {} if settings is None else settings
    for override in overrides:
        key, equals, text = override.partition("=")
        if not equals or not key:
            raise UsageError(f"{override!r}: not a setting; write key=value")
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise UsageError(f"{override!r}: its value is not YAML; put it in quotes") from error
        _set(found, key.split("."), value, override)
    return found


def save_resolved(config: Any, path: str | Path) -> None:
    """Write every setting of a dataclass instance as YAML, atomically; `load_config` of that file gives it back."""
    # Not with allow_unicode: PyYAML then writes U+0085 as it is and reads it back as a space.
    text = yaml.safe_dump(_plain(asdict(config)), sort_keys=False)
    with atomic_write(path) as stream:
        stream.write(text.encode())


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise VtcError(explain(error, path)) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise VtcError(f"{path}: not YAML ({' '.join(str(error).split())})") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise VtcError(f"{path}: must hold one mapping of keys to values")
    return content


def _set(settings: dict[str, Any], keys: list[str], value: Any, override: str) -> None:
    """Store `value` under nested keys, making mappings on the way."""
    for key in keys[:-1]:
        settings = settings.setdefault(key, {})
        if not isinstance(settings, dict):
            raise UsageError(f"{override!r}: {key!r} holds one value, so it has no keys below it")
    settings[keys[-1]] = value


def _build(cls: type[Config], settings: Mapping[Any, Any], prefix: str) -> Config:
    hints = get_type_hints(cls)
    known = [field for field in fields(cls) if field.init]  # type: ignore[arg-type]
    names = [field.name for field in known]
    values = {}
    for key, value in settings.items():
        if key not in names:
            raise UsageError(unknown("setting", f"{prefix}{key}", [prefix + name for name in names]))
        values[key] = _coerce(value, hints[key], prefix + key)
    for field in known:
        if field.name not in values and field.default is MISSING and field.default_factory is MISSING:
            raise UsageError(f"{prefix}{field.name}: has no default; give it in the YAML file or as key=value")
    return cls(**values)


def _coerce(value: Any, hint: Any, key: str) -> Any:
    """`value` as the annotation `hint` wants it, or a UsageError that names `key`."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return _coerce_union(value, inner, key)
    if origin is Literal and value not in inner:
        raise UsageError(unknown(key, str(value), [str(choice) for choice in inner]))
    if hint is Any or origin is Literal:
        return value
    if is_dataclass(hint) and isinstance(value, Mapping):
        return _build(hint, value, f"{key}.")  # type: ignore[arg-type]
    if origin in (list, tuple) and isinstance(value, (list, tuple)):
        # list[X] and tuple[X, ...] take any length, tuple[X, Y] takes its own
        hints = inner if origin is tuple and inner[-1] is not ... else inner[:1] * len(value)
        if len(hints) == len(value):
            return origin(_coerce(item, part, key) for item, part in zip(value, hints, strict=True))
    if origin is dict and isinstance(value, Mapping):
        return {_coerce(name, inner[0], key): _coerce(item, inner[1], key) for name, item in value.items()}
    if hint is float and isinstance(value, (int, float, str)) and not isinstance(value, bool):
        with suppress(ValueError):
            return float(value)  # also of text, since YAML 1.1 takes 1e-3 for text
    if hint is Path and isinstance(value, (str, Path)):
        return Path(value)
    # bool is a subclass of int, but `true` is no number
    if origin is None and isinstance(value, hint) and not (hint is int and isinstance(value, bool)):
        return value
    raise UsageError(f"{key}: {value!r} is not {_named(hint)}")


def _coerce_union(value: Any, choices: tuple[Any, ...], key: str) -> Any:
    """The first choice that takes the value; None only where None is a choice."""
    if value is None and type(None) in choices:
        return None
    some = [choice for choice in choices if choice is not type(None)]
    if len(some) == 1:
        return _coerce(value, some[0], key)
    for choice in some:
        with suppress(UsageError):
            return _coerce(value, choice, key)
    raise UsageError(f"{key}: {value!r} is not {' or '.join(map(_named, some))}")


def _named(hint: Any) -> str:
    """An annotation as a reader knows it: `int`, `list[int]`."""
    return str(hint.__name__) if isinstance(hint, type) and get_origin(hint) is None else str(hint)


def _plain(value: Any) -> Any:
    """Only what YAML can hold: paths become text, tuples lists."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, Path) else value
