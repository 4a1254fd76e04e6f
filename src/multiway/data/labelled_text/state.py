"""What training learnt of texts, and a loaded run needs to read later ones."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, Self

from multiway.data.labelled_text.table import TextColumns
from multiway.data.labelled_text.vocabulary import Vocabulary
from multiway.data.series.scaling import Scaler


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextState:
    """Columns, vocabulary and encoder.

    inputs: What a network sees of a text: ids of words, one vector, or ids of an encoder's tokens.
    vocabulary: Of the training rows.
    length: Words of the longest training text, capped.
    encoder, width: Name of the encoder, and features of its vectors and tokens.
    digest: Hash of the encoder; None where a network sees words.
    scaler: Mean and deviation of each feature of the training rows' vectors; None where it sees no vectors.
    """

    columns: TextColumns
    inputs: Literal["words", "vectors", "tokens"]
    vocabulary: Vocabulary
    length: int
    encoder: str
    width: int
    digest: str | None
    scaler: Scaler | None

    @property
    def classes(self) -> Sequence[str]:
        """Names of the classes, in the order of the outputs."""
        return self.columns.classes

    def plain(self) -> dict[str, Any]:
        """Plain values that JSON keeps exactly."""
        scaler = None if self.scaler is None else self.scaler.to_dict()
        return {**dataclasses.asdict(self), "vocabulary": list(self.vocabulary.words), "scaler": scaler}

    @classmethod
    def parse(cls, plain: dict[str, Any]) -> Self:
        """Undo `plain`."""
        columns, words = TextColumns.parse(plain["columns"]), Vocabulary(tuple(plain["vocabulary"]))
        scaler = None if plain["scaler"] is None else Scaler.from_dict(plain["scaler"])
        return cls(**{**plain, "columns": columns, "vocabulary": words, "scaler": scaler})
