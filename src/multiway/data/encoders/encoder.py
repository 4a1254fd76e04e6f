"""What an encoder of texts is."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class TextEncoder(Protocol):
    """Turns each text into one vector that depends on that text alone."""

    @property
    def name(self) -> str:
        """What users call it."""

    @property
    def digest(self) -> str:
        """Hash of all that its vectors depend on: equal digests, equal vectors."""

    @property
    def dim(self) -> int:
        """Features of a vector."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Give one row per text, `(texts, dim)`."""
