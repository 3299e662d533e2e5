"""What a run compares: a system turns an item into a result. Codecs, readers, baselines and peers are all systems."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import yaml

from eval.registry import CODEC_SYSTEMS, READER_SYSTEMS
from eval.schema import Item, Result
from vtc.records.errors import UsageError
from vtc.records.registry import lookup

if TYPE_CHECKING:
    from vtc.glyphs.table import GlyphTable
    from vtc.llm.frozen import FrozenLM
    from vtc.llm.vocabulary import Vocabulary


@dataclass
class Bench:
    """What systems share in one run; each part is loaded when it is first needed."""

    llm_name: str = "smollm2-135m"
    seed: int = 0
    threads: int = 1
    workers: dict[str, Any] = field(default_factory=dict)
    """Processes of peers that several systems ask, by peer."""

    @cached_property
    def llm(self) -> FrozenLM:
        """The frozen LLM that reads."""
        from vtc.llm.frozen import FrozenLM  # codecs do without torch

        return FrozenLM.load(self.llm_name)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Its tokenizer, by which tokens are counted."""
        from vtc.llm.vocabulary import Vocabulary

        return Vocabulary.load(self.llm_name)

    @cached_property
    def table(self) -> GlyphTable:
        """Its glyph table."""
        from vtc.api import load_table

        table: GlyphTable = load_table(self.llm_name)
        return table


@dataclass
class System(ABC):
    """One way to hold a document. `run` is called for one item after another; `close` ends what was started."""

    bench: Bench
    name: str
    """Registered name."""
    options: dict[str, Any] = field(default_factory=dict)

    @abstractmethod
    def run(self, item: Item) -> Result:
        """Serve every probe of the item, or say why not in `refused`."""

    def close(self) -> None:
        """End helpers of this system; there are none by default."""
        return None


def parse_spec(spec: str) -> tuple[str, dict[str, Any]]:
    """`name:key=value,key=value` as a name and its options; values are YAML.

    Raises:
        UsageError: it does not have this form.
    """
    name, _, rest = spec.partition(":")
    options: dict[str, Any] = {}
    for pair in filter(None, rest.split(",")):
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"{spec!r}: {pair!r} is no option; write {name}:key=value,key=value")
        try:
            options[key.strip()] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise UsageError(f"{spec!r}: the value of {key.strip()!r} is not YAML; put it in quotes") from error
    if not name:
        raise UsageError(f"{spec!r}: names no system; write name or name:key=value")
    return name, options


def build(spec: str, kind: str, bench: Bench) -> System:
    """The system that `spec` describes.

    Args:
        kind: "codec" or "reader".

    Raises:
        UsageError: an unknown name or option.
    """
    name, options = parse_spec(spec)
    registry: Mapping[str, str] = {"codec": CODEC_SYSTEMS, "reader": READER_SYSTEMS}[kind]
    found: System = lookup(registry, name, kind)(bench, name, options)
    return found
