"""Documents with their splits and tokens: what every later step starts from."""

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.config import Config
from multiway.data.language.options import TextOptions, TextSplit, TokenOptions
from multiway.data.language.reading import read_documents
from multiway.data.language.splitting import split_texts
from multiway.data.language.tally import COUNTED, Tally
from multiway.data.language.texts import Texts
from multiway.data.language.vocabulary import Ids, Vocabulary, learn_vocabulary
from multiway.data.language.windows import TokenWindows
from multiway.data.splitting import Splits
from multiway.errors import DataError


class TextCounts(Config):
    """Size of a split."""

    documents: int
    words: int
    bytes: int
    tokens: int


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class PreparedText:
    """Documents and how they become tokens; later ones have no splits."""

    texts: Texts
    splits: Splits
    vocabulary: Vocabulary
    options: TokenOptions

    @property
    def source(self) -> str:
        """Where the text came from."""
        return self.texts.source

    @property
    def notes(self) -> tuple[str, ...]:
        """What reading did, and a context that no training document fills."""
        return (*self.texts.notes, *self._unfilled())

    def _unfilled(self) -> Iterator[str]:
        longest = max(map(len, self.pieces("train"))) if self.splits else self.options.context
        if longest < self.options.context:
            yield (
                f"the longest training document has {longest:,} tokens, and the context is {self.options.context:,}: "
                f"nothing is learnt of places beyond"
            )

    def check_context(self) -> None:
        """Whether the training text fills one context.

        Raises:
            DataError: It is shorter.
        """
        count, context = self.part("train").targets, self.options.context
        if count < context:
            raise DataError(
                f"{self.source}: the training text has {count:,} tokens, fewer than the context of {context:,}. "
                f"Give more text, or a smaller context (--context {max(2, count // 8)})."
            )

    def content(self) -> Iterator[object]:
        """Everything that was read."""
        yield self.texts.documents
        yield from self.splits.values()

    def rows(self, split: str) -> NDArray[np.int64]:
        """Documents of a split; all of them where there is no such split."""
        return self.splits.get(split, np.arange(len(self.texts)))

    def documents(self, split: str) -> list[str]:
        """Texts of a split."""
        return [self.texts.documents[row] for row in self.rows(split)]

    def places(self, split: str) -> list[str]:
        """Where each document of a split stands."""
        return [self.texts.places[row] for row in self.rows(split)]

    def pieces(self, split: str) -> list[Ids]:
        """Tokens of the documents of a split, without marks."""
        return [self._encoded[row] for row in self.rows(split).tolist()]

    def part(self, split: str) -> TokenWindows:
        """Windows of a split; of training text as many as the options say."""
        most = self.options.most_tokens if split == "train" else None
        return TokenWindows.of(self.pieces(split), self.options.context, self.vocabulary.mark).head(most)

    def tally(self, split: str) -> Tally:
        """What is counted of the documents of a split, and of its windows."""
        return Tally.of(split, self.places(split), self.documents(split), self.part(split))

    def counts(self, split: str) -> dict[str, Any]:
        """Size of a split; of training text the tokens that are learnt from."""
        documents = self.tally(split).documents
        return TextCounts(documents=len(documents), **{name: int(documents[name].sum()) for name in COUNTED}).plain()

    def spelt(self, split: str, windows: TokenWindows) -> pd.DataFrame:
        """A row per token of some windows of a split: its document, its place in the window, and its text."""
        return pd.DataFrame(
            {
                "document": np.array(self.places(split))[np.repeat(windows.document, windows.length)],
                "in_window": np.concatenate([np.arange(size) for size in windows.length]),
                "token": [self.vocabulary.decode([each]) for each in windows.said().tolist()],
            }
        )

    def cut(self, split: str, documents: int, after: int) -> Iterator[tuple[str, str]]:
        """The first documents of a split, cut after half a context at most, and so many tokens of how each goes on."""
        for piece in self.pieces(split)[:documents]:
            stop = min(self.options.context, len(piece)) // 2
            yield self.vocabulary.decode(piece[:stop]), self.vocabulary.decode(piece[stop : stop + after])

    @functools.cached_property
    def _encoded(self) -> "_Lazily":
        return _Lazily(self.texts.documents, self.vocabulary)


class _Lazily:
    """Tokens of documents, made when they are first asked for."""

    def __init__(self, documents: tuple[str, ...], vocabulary: Vocabulary) -> None:
        self._documents, self._vocabulary = documents, vocabulary
        self._made: dict[int, Ids] = {}

    def __getitem__(self, row: int) -> Ids:
        if row not in self._made:
            (self._made[row],) = self._vocabulary.encode([self._documents[row]])
        return self._made[row]


def prepare_texts(source: Any, read: TextOptions, split: TextSplit, options: TokenOptions) -> PreparedText:
    """Read, split and learn the vocabulary of the training text; what can be wrong with the data shows here.

    Raises:
        DataError: The text is not sound, or a split is empty.
        ConfigError: No tokenizer has the name, or its library is not installed.
    """
    texts, splits = split_texts(read_documents(source, read), split)
    training = [texts.documents[row] for row in splits["train"].tolist()]
    return PreparedText(texts=texts, splits=splits, vocabulary=learn_vocabulary(options, training), options=options)


def match_texts(source: Any, read: TextOptions, options: TokenOptions, vocabulary: Vocabulary) -> PreparedText:
    """Text that came after the training; nothing is learnt from it.

    Raises:
        DataError: The text is not sound.
    """
    texts = read_documents(source, read, later=True)
    return PreparedText(texts=texts, splits={}, vocabulary=vocabulary, options=options)
