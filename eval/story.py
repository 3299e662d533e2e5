"""The demo's findings as the blocks of its report. Every figure comes from the findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eval.blocks import Block, Code, Heading, Paragraph, Picture, Quote, Table
from vtc.measuring import show

if TYPE_CHECKING:
    from eval.demo import Findings
    from eval.questions import Answered


def blocks_of(found: Findings) -> list[Block]:
    """The whole report, in reading order."""
    return [
        *overview(found),
        *curve(found),
        *page(found),
        *questions(found),
        *conditions(found),
    ]


def overview(found: Findings) -> list[Block]:
    """What went in, what came out, the ratios and the cost."""
    r = found.record
    memory = f"{r['peak_memory_bytes'] / 2**20:.0f} MiB" if r["peak_memory_bytes"] else "unknown"
    rows = [
        ("text", f"{r['text_bytes']} bytes, {r['text_tokens']} tokens, {r['pages']} pages"),
        ("document", f"{r['document_bytes']} bytes, {r['latents']} latents of width {r['width']} in {r['dtype']}"),
        ("latent_ratio", f"{r['latent_ratio']:.1f}:1 (tokens : latents, nominal)"),
        ("byte_ratio", f"{r['byte_ratio']:.2f}:1 (text : document, all side information counted)"),
        ("position_ratio", positions(found)),
        ("exact pages", f"{r['exact_pages']} of {r['pages']} (n = {r['pages']})"),
        (
            "character accuracy",
            f"{show.percent('char_accuracy_mean')(r)} % mean, {show.percent('char_accuracy_p5')(r)} % p5",
        ),
        ("bits per token", f"{r['bits_per_token']:.1f}, of which {r['side_bits_per_token']:.1f} side information"),
        ("raw token ids", f"{r['raw_ids_bytes']} bytes, byte_ratio {r['raw_ids_byte_ratio']:.2f}:1"),
        ("zstd -19", f"{r['zstd19_bytes']} bytes, byte_ratio {r['zstd19_byte_ratio']:.2f}:1"),
    ]
    return [
        Paragraph(
            f"`{found.document}` was compressed with the codec `{r['codec']}` (density {r['density']}, alphabet "
            f"{r['alphabet']}, prior {r['prior']}) and restored **byte for byte**: both have the SHA-256 "
            f"`{found.text_sha256[:16]}..`. Nothing was trained, and the language model was not changed."
        ),
        Table(("", "the whole document"), rows),
        Paragraph(
            "The aim is few latents, not few bytes: zstd makes the smaller file. The reader `expand` restores the text "
            "and gives the LLM the passages that fit the question; its position_ratio comes from reading no others."
        ),
        Heading("Cost"),
        Table(
            ("step", "seconds", "times faster than the prefill"),
            [
                (f"prefill by {r['llm']}", f"{r['prefill_seconds']:.1f}", "1.0"),
                *(
                    (label, f"{r[f'{name}_seconds']:.2f}", f"{r[f'{name}_vs_prefill']:.1f}")
                    for name, label in (
                        ("encode", "encode, verified by decoding"),
                        ("encode_no_verify", "encode without verification"),
                        ("restore", "restore"),
                    )
                ),
            ],
        ),
        Paragraph(
            f"Same text, same run, threads: {r['threads']}. The prefill was timed on {r['prefill_sample_tokens']} "
            f"tokens in pages of {r['prefill_page_tokens']} and scaled to {r['text_tokens']}; in one piece it would "
            f"take longer. Peak memory without the LLM: {memory}."
        ),
    ]


def positions(found: Findings) -> str:
    """The position ratio of the questions that were asked."""
    ratios = [answered.document["position_ratio"] for answered in found.answered]
    if not ratios:
        return "none: nothing was asked"
    shown = f"{min(ratios):.0f}:1" if min(ratios) == max(ratios) else f"{min(ratios):.0f}:1 to {max(ratios):.0f}:1"
    return (
        f"{shown} (tokens of the document : positions that reader {found.answered[0].document['reader']} gave the LLM)"
    )


def curve(found: Findings) -> list[Block]:
    """Fidelity and size over densities."""
    rows = found.curve
    pages = rows[0]["pages"]
    columns = [("storage", show.text("dtype")), ("density", show.text("density")), *show.FIDELITY]
    kept = [(name, shown) for name, shown in columns if any(shown(row) != show.NONE for row in rows)]
    ordered = sorted(rows, key=lambda row: (str(row["dtype"]), row["density"]))
    return [
        Heading("Ratio against fidelity"),
        Paragraph(
            f"The first {pages} pages (n = {pages}, {rows[0]['text_tokens']} tokens) at several densities. A document "
            "is verified while it is made and repaired where it fails, so it is exact, and its ratio is the one that "
            "was reached; **unverified** is the same folding left as it is, at the density asked for."
        ),
        Picture(
            "curve/measure.png", "Character accuracy and bits per token against latent_ratio, which has a log axis."
        ),
        Table([name for name, _ in kept], [[shown(row) for _, shown in kept] for row in ordered]),
    ]


def page(found: Findings) -> list[Block]:
    """The page image."""
    return [
        Heading("A page image"),
        Paragraph(
            "The first page, drawn from the glyph table: one cell for each token, in reading order, with spaces and "
            "line ends marked. The band above holds the page's number and checksum. It was read back by looking its "
            "cells up, and gave the same bytes."
        ),
        Picture(found.page_image, "Page 1, every cell the clean glyph image of one token."),
    ]


def questions(found: Findings) -> list[Block]:
    """Each question with its source, and the three answers."""
    if not found.answered:
        ask = found.commands[0] + ' --question "..."'
        return [Heading("Questions"), Paragraph("None was asked. This asks one about the document:"), Code([ask])]
    model = found.answered[0].document["llm"]
    blocks: list[Block] = [
        Heading("Questions"),
        Paragraph(
            f"Three answers of {model} stand side by side: from the compressed document, of which it is given the "
            "restored passages that fit the question; from the page with the answer as plain text; and from nothing. "
            "If the second is wrong too, the model reads badly; if the first alone is wrong, the passages were the "
            "wrong ones. The model's weights were compared before and after and are the same."
        ),
    ]
    for number, answered in enumerate(found.answered, 1):
        blocks += question(number, answered)
    return blocks


def question(number: int, answered: Answered) -> list[Block]:
    """One question."""
    document, plain = answered.document, answered.page
    blocks: list[Block] = [Heading(f"{number}. {answered.question.text}", 3)]
    if answered.source:
        blocks.append(Quote(answered.source.sentence, named(answered.source.pages)))
    pages = document["pages_read"]
    read = f"page{'s' * (len(pages) > 1)} {', '.join(map(str, pages))}"
    known = "the answer's place" if answered.source else "the page found best"
    rows = [
        (f"compressed document, passages of {read}", document),
        (f"{known}, {named(answered.pages)}, as plain text", plain),
        ("no text", {"answer": answered.nothing, "positions": 0, "seconds": None, "position_ratio": None}),
    ]
    table = Table(
        ("read", "answer", "right", "positions", "position_ratio", "seconds"),
        [
            (
                where,
                " ".join(record["answer"].split()),
                {True: "yes", False: "no", None: "-"}[answered.right(record["answer"])],
                str(record["positions"]),
                "-" if record is not document else f"{record['position_ratio']:.0f}:1",
                "-" if record["seconds"] is None else f"{record['seconds']:.1f}",
            )
            for where, record in rows
        ],
    )
    return [*blocks, table]


def named(pages: tuple[int, int]) -> str:
    """`page 4` or `pages 4-5`."""
    return f"page {pages[0]}" if pages[0] == pages[1] else f"pages {pages[0]}-{pages[1]}"


def conditions(found: Findings) -> list[Block]:
    """Model, machine, versions, seed, commands."""
    r: dict[str, Any] = found.record
    rows = [
        ("model", r["llm"]),
        ("tokenizer", f"{r['tokenizer']}, vocabulary {r['vocabulary_hash'][:12]}"),
        ("seed", f"{r['seed']} (picks the pages that are prefilled; nothing else is random)"),
        ("processor", f"{r['processor']}, {r['cores']} cores, threads: {r['threads']}"),
        ("system", f"{r['system']}, Python {r['python']}"),
        *((name, str(r[name])) for name in ("vtc-llm", "torch", "transformers", "tokenizers", "numpy")),
        ("the demo took", f"{found.seconds:.0f} s"),
    ]
    return [
        Heading("Conditions"),
        Table(("", ""), rows),
        Paragraph("The first command is the demo; the others do the same step by step."),
        Code(found.commands),
    ]
