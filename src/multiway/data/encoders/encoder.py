"""What an encoder of texts is, and the options by which users choose one."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


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
