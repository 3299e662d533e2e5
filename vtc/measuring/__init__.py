"""Compression ratio against fidelity: what `vtc measure` prints and saves.

    from vtc.measuring import measure, save
    records = measure(["book.txt"], grid={"density": [64, 128, 256]})
    save(records, "measure-book")

    from vtc.measuring.reading import measure_reader     # which loads transformers
    save(measure_reader(["book.txt"], reader="kv", ratios=[4, 8, 16, 32]), "measure-book-kv")

One record per file, codec and setting, or per file, reader and ratio. Fidelity is that of the text which came back,
compared with the original, or of what the model expects after the text, compared with reading all of it; never assumed.
Ratios are named; times stand beside the frozen LLM's prefill of the same text in the same run.
"""

from vtc.measuring.readshow import reading_table
from vtc.measuring.runs import measure
from vtc.measuring.saving import save
from vtc.measuring.show import table

__all__ = ["measure", "reading_table", "save", "table"]
