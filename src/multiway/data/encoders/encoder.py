"""What an encoder of texts is, and the options by which users choose one."""

from collections.abc import Sequence
from typing import Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from multiway.config import Config


class TextEncoder(Protocol):
    """Turns each text into one vector that depends on that text alone.

    To rounding: a network's products are rounded in another order in another batch, which moves a vector by about
    1e-6 of its length in float32 and 4e-3 in bf16. A vector that is kept in the cache does not move again.
    """

    @property
    def name(self) -> str:
        """What users call it."""

    @property
    def digest(self) -> str:
        """Hash of all that its vectors depend on: equal digests, equal vectors to rounding."""

    @property
    def dim(self) -> int:
        """Features of a vector."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Give one row per text, `(texts, dim)`."""


class EncoderOptions(Config):
    """Which encoder, and how it is run."""

    encoder: str = "auto"
    """`minilm`, `finbert`, `hashed` (no network, no download), or the name or folder of any model that transformers
    loads; `auto` is minilm where it is installed, else hashed."""
    max_tokens: int = Field(128, ge=4)
    """Tokens of a text that a network sees; the rest is cut off."""
    batch_tokens: int = Field(4096, gt=0)
    """Tokens that go through a network at once, padding counted; fewer take less memory."""
    dtype: Literal["auto", "float32", "bf16"] = "auto"
    """Precision of a network's products; `auto` is bf16 where the processor is fast at it."""
    device: str = "auto"
    """Where a network runs, such as cpu or cuda:0; `auto` is a GPU if there is one."""
    hashed_dim: int = Field(512, ge=8, le=65536)
    """Features of the hashed encoder."""
    cache: str | None = None
    """Folder that keeps vectors between runs; next to the downloaded data sets if not given."""

    @model_validator(mode="after")
    def _a_text_fits_a_batch(self) -> Self:
        if self.batch_tokens < self.max_tokens:
            raise ValueError(
                f"batch_tokens must hold one text of max_tokens. Got {self.batch_tokens} and {self.max_tokens}"
            )
        if not self.encoder.strip():
            raise ValueError("encoder must be a name or a folder. Got an empty one")
        return self
