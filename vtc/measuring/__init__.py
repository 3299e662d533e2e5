"""Compression ratio against fidelity: what `vtc measure` prints and saves.

    from vtc.measuring import measure, save
    records = measure(["book.txt"], grid={"density": [64, 128, 256]})
    save(records, "measure-book")

One record per file, codec and setting. Fidelity is that of the text which came back, compared with the original, never
assumed; ratios are named; times stand beside the frozen LLM's prefill of the same text in the same run.
"""

from vtc.measuring.runs import measure
from vtc.measuring.saving import save
from vtc.measuring.show import table

__all__ = ["measure", "save", "table"]
