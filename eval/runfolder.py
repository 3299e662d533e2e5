"""A run's folder: `config.yaml`, `command.txt`, `env.json`, `samples.parquet`, and `metrics.json`, written last.

While a run goes on, every process adds its samples to a file of its own under `parts/`, line by line, so that a killed
run goes on where it stopped. `metrics.json` exists exactly when the run is finished.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eval.plan import Plan
from eval.schema import VERSION, Estimate, Record, Sample
from vtc.measuring import cost
from vtc.records.artefact import atomic_write, explain
from vtc.records.config import save_resolved
from vtc.records.errors import UsageError, VtcError

ROOT = Path(__file__).resolve().parents[1]
TEXTS = ("prompt", "reference", "output")
"""Fields of a sample that may hold bytes which are no UTF-8."""


class RunFolder:
    """One run on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, plan: Plan, threads: int, processes: int) -> bool:
        """Say what the run is; True if the folder holds it finished already.

        Raises:
            UsageError: it holds a run with another plan.
            VtcError: the place cannot be written.
        """
        with tempfile.TemporaryDirectory() as scratch:
            save_resolved(plan, Path(scratch) / "config.yaml")
            new = (Path(scratch) / "config.yaml").read_text(encoding="utf-8")
        config = self.path / "config.yaml"
        if config.exists() and config.read_text(encoding="utf-8") != new:
            raise UsageError(f"{self.path}: holds a run with another plan; choose another --out, or remove it")
        if (self.path / "metrics.json").is_file():
            return True
        try:
            (self.path / "parts").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise VtcError(explain(error, self.path)) from error
        self._write("config.yaml", new)
        now = environment(plan, threads, processes)
        if (self.path / "env.json").is_file():  # both what it began and what it goes on under
            begun = json.loads((self.path / "env.json").read_text(encoding="utf-8"))
            now = {**begun, "resumed": [*begun.get("resumed", []), now]}
        else:
            self._write("command.txt", " ".join(["python -m eval.run", *sys.argv[1:]]) + "\n")
        self._write("env.json", json.dumps(now, indent=1) + "\n")
        return False

    def samples(self) -> list[Sample]:
        """What all processes have added so far; a last line that was cut off by a kill is dropped."""
        found = []
        for path in sorted((self.path / "parts").glob("*.jsonl")):
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    rows = json.loads(line)
                except ValueError:
                    continue
                found += [Sample(**row) for row in rows]
        return found

    def add(self, process: int, samples: Sequence[Sample]) -> None:
        """Keep the samples of one item and system: one line, so that they are there together or not at all."""
        line = json.dumps([sample.as_dict() for sample in samples])
        with open(self.path / "parts" / f"{process}.jsonl", "a", encoding="utf-8") as stream:
            stream.write(f"\n{line}\n")  # a line that a kill cut off does not swallow this one

    def finish(self, samples: Sequence[Sample], records: Sequence[Record]) -> None:
        """Write samples and metrics; the parts are no longer needed and go."""
        import pyarrow as pa  # a command that only shows its help does without
        import pyarrow.parquet as parquet

        rows = [row_of(sample) for sample in samples]
        with atomic_write(self.path / "samples.parquet") as stream:
            parquet.write_table(pa.Table.from_pylist(rows, schema_of(pa)), stream)
        metrics = {"version": VERSION, "records": [asdict(record) for record in records]}
        self._write("metrics.json", json.dumps(metrics, indent=1) + "\n")
        for path in (self.path / "parts").glob("*.jsonl"):
            path.unlink(missing_ok=True)
        (self.path / "parts").rmdir()

    def _write(self, name: str, text: str) -> None:
        with atomic_write(self.path / name) as stream:
            stream.write(text.encode())


def load_records(run: Path) -> list[Record]:
    """Records of a finished run.

    Raises:
        VtcError: it is not finished, or of another version.
    """
    try:
        content = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise VtcError(f"{run}: holds no finished run; go on with it: python -m eval.run ... --out {run}") from None
    except (OSError, ValueError) as error:
        raise VtcError(f"{run}/metrics.json: unreadable ({error}); run it again") from error
    if content.get("version") != VERSION:
        raise VtcError(f"{run}: was written by another version of the ruler; run it again")
    return [
        Record(**{**row, "metrics": {name: Estimate(**value) for name, value in row["metrics"].items()}})
        for row in content["records"]
    ]


def load_samples(run: Path) -> list[Sample]:
    """Samples of a finished run, in the order of the run.

    Raises:
        VtcError: there is none.
    """
    import pyarrow.parquet as parquet

    path = run / "samples.parquet"
    if not path.is_file():
        raise VtcError(f"{run}: holds no finished run; go on with it: python -m eval.run ... --out {run}")
    rows = parquet.read_table(path).to_pylist()
    return [
        Sample(
            **{
                **row,
                **{name: dict(row[name]) for name in ("tags", "measures")},
                **{name: row[name].decode("utf-8", "surrogateescape") for name in TEXTS},
            }
        )
        for row in rows
    ]


def row_of(sample: Sample) -> dict[str, Any]:
    """A sample as Parquet keeps it: texts as bytes, since a restored text need not be UTF-8."""
    row = sample.as_dict()
    for name in TEXTS:
        row[name] = row[name].encode("utf-8", "surrogateescape")
    for name in ("tags", "measures"):
        row[name] = list(row[name].items())
    return row


def schema_of(pa: Any) -> Any:
    """The Arrow schema of `samples.parquet`."""
    kinds = {"str": pa.string(), "int": pa.int64(), "float": pa.float64()}
    special = {
        "tags": pa.map_(pa.string(), pa.string()),
        "measures": pa.map_(pa.string(), pa.float64()),
        **dict.fromkeys(TEXTS, pa.binary()),
    }
    hints = {name: str(kind).partition(" | ")[0] for name, kind in Sample.__annotations__.items()}
    return pa.schema([(name, special.get(name) or kinds[kind]) for name, kind in hints.items()])


def environment(plan: Plan, threads: int, processes: int) -> dict[str, Any]:
    """Commit and dirty flag, versions, seed, machine."""
    return {
        "commit": _git("rev-parse", "HEAD"),
        "dirty": bool(_git("status", "--porcelain")),
        "source": source_hash(),
        "seed": plan.seed,
        "llm": plan.llm,
        "threads": threads,
        "processes": processes,
        **cost.machine(),
    }


def source_hash() -> str:
    """SHA-256 over the Python sources of vtc and eval: what a run depends on, also without git."""
    digest = hashlib.sha256()
    for folder in ("vtc", "eval"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
