"""A text autoencoder without pixels: strided 1-D convolutions over bytes, mirrored by transposed ones.

    python -m eval.baselines.conv1d [stride=32] [width=256] [steps=1500] [seed=0]

trains one, saves it beside the artefacts and says what it restores of texts that it has not seen. A run that names the
system `conv1d` trains what is missing by itself.
"""

from __future__ import annotations

from eval.baselines.conv1d.system import Conv1d

__all__ = ["Conv1d"]
