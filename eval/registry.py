"""Everything that a run can name: tasks, codecs, readers. Dicts of `module:Class`, imported when they are asked for.

Codecs and readers of vtc are systems as they are; beside them stand baselines and peers, which know the same interface
(`eval.systems.base.System`).
"""

from __future__ import annotations

from vtc.records.registry import CODECS, READERS

TASKS: dict[str, str] = {
    "reconstruct": "eval.tasks.reconstruct:Reconstruct",
    "continuation": "eval.tasks.continuation:Continuation",
    "needle": "eval.tasks.needle:Needle",
    "far_fact": "eval.tasks.far_fact:FarFact",
    "two_pages": "eval.tasks.two_pages:TwoPages",
    "questions": "eval.tasks.questions:Questions",
}

BASELINE_READERS: dict[str, str] = {
    "none": "eval.baselines.nothing:NothingReader",
    "truncate": "eval.baselines.truncate:TruncateReader",
    "spread": "eval.baselines.spread:SpreadReader",
    "pool": "eval.baselines.pool:PoolReader",
}
"""Readers (`vtc.readers.base.Reader`) that set the floor."""

ALL_READERS: dict[str, str] = {**READERS, **BASELINE_READERS}

CODEC_SYSTEMS: dict[str, str] = {
    **{name: "eval.systems.codec:CodecSystem" for name in CODECS},
    "zstd": "eval.baselines.zstd:Zstd",
    "conv1d": "eval.baselines.conv1d:Conv1d",
    "deepseek": "eval.peers.deepseek:DeepSeek",
    "tesseract": "eval.peers.optical:Tesseract",
}

READER_SYSTEMS: dict[str, str] = {
    **{name: "eval.systems.reader:ReaderSystem" for name in ALL_READERS},
    **{name: "eval.peers.presses:Press" for name in ("snapkv", "kvzip", "streamingllm", "chunkkv")},
    "page": "eval.baselines.page:Page",
    "llmlingua": "eval.peers.lingua:Lingua",
}
