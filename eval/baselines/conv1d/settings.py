"""What a training of the autoencoder is decided by; other settings make another file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from vtc.records.errors import UsageError


@dataclass
class Settings:
    """Options of the system `conv1d`."""

    stride: int = 32
    """Bytes of text a latent: a power of two."""
    width: int = 256
    """Numbers in a latent, stored as float16."""
    embedding: int = 16
    """Numbers a byte; twice as many channels after every convolution."""
    channels: int = 512
    """At most so many."""
    blocks: int = 1
    """Residual blocks over latents on either side."""
    steps: int = 1500
    batch: int = 16
    """Windows a step."""
    window: int = 256
    """Bytes; at least one latent."""
    noise: float = 0.25
    """Share of windows that hold random bytes, so that texts unlike the corpus are learned too."""
    rate: float = 2e-3
    """Highest learning rate of AdamW; it rises for 100 steps and falls as a cosine."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.stride < 2 or self.stride & (self.stride - 1):
            raise UsageError(f"stride={self.stride}: must be a power of two, at least 2")
        for name in ("width", "embedding", "channels", "steps", "batch", "window"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name}={getattr(self, name)}: must be at least 1")
        if not 0 <= self.noise <= 1:
            raise UsageError(f"noise={self.noise}: must be from 0 to 1")
        self.window = -(-self.window // self.stride) * self.stride

    @property
    def file(self) -> str:
        """Name of the artefact: equal for equal settings only."""
        digest = hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()
        return f"conv1d-{self.stride}x{self.width}-{digest[:10]}.safetensors"
