"""What is counted of documents and of their windows."""

import dataclasses
from collections.abc import Sequence
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.data.language.texts import text_bytes, words_of
from multiway.data.language.windows import TokenWindows

COUNTED = ("tokens", "words", "bytes")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Tally:
    """Tokens, words and bytes of a split.

    documents: A row per document: where it stands, its split, and what is counted of it.
    document: `(windows,)` document of each window.
    windows: `(windows, 3)` what is counted of each; of its document's words and bytes it has its share by tokens.
    """

    documents: pd.DataFrame
    document: NDArray[np.int64]
    windows: NDArray[np.float64]

    @classmethod
    def of(cls, split: str, places: Sequence[str], texts: Sequence[str], windows: TokenWindows) -> Self:
        """Count texts that are cut into these windows."""
        tokens = np.bincount(windows.document, windows.length, len(texts)).astype(np.int64)
        words, size = (np.array([count(text) for text in texts], np.int64) for count in (words_of, text_bytes))
        head = {"document": list(places), "split": split}
        documents = pd.DataFrame({**head, "tokens": tokens, "words": words, "bytes": size})
        whole = documents[list(COUNTED)].to_numpy(np.float64)[windows.document]
        shares = windows.length / whole[:, 0]
        counted = np.stack([windows.length, *(whole[:, 1:] * shares[:, None]).T], axis=1)
        return cls(documents=documents, document=windows.document, windows=counted)

    def sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """A value of every window, summed by document."""
        return np.asarray(np.bincount(self.document, values, len(self.documents)))
