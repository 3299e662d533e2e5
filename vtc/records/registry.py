"""Codecs and readers by name: dicts of `module:Class`, imported when they are asked for.

Naming a class as text keeps this lowest layer free of imports from the layers above, and keeps torch and transformers
out of a command that needs neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from vtc.records.errors import UsageError, VtcError
from vtc.records.suggest import unknown

CODECS: dict[str, str] = {
    "hard": "vtc.codecs.hard:HardCodec",
    "ids": "vtc.codecs.ids:IdsCodec",
}
READERS: dict[str, str] = {
    "text": "vtc.readers.text:TextReader",
    "expand": "vtc.readers.expand:ExpandReader",
    "kv": "vtc.readers.kv.reader:KvReader",
}


def lookup(registry: Mapping[str, str], name: str, kind: str = "name") -> type[Any]:
    """The class that `registry` knows as `name`.

    Args:
        registry: `CODECS`, `READERS`, or another mapping of names to `module:Class`.
        name: exactly as registered.
        kind: what the registry holds, for the message: "codec", "reader".

    Raises:
        UsageError: the name is not registered; the message names the nearest one.
        VtcError: the class needs a package that is not installed.
    """
    if name not in registry:
        raise UsageError(unknown(kind, name, registry))
    module, _, attribute = registry[name].partition(":")
    try:
        found: type[Any] = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or module == error.name or module.startswith(f"{error.name}."):
            raise  # the entry itself is wrong: a defect, not a missing extra
        raise VtcError(f"{kind} {name!r} needs the package {error.name!r}; install it with pip") from error
    return found
