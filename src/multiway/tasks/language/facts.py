"""What is stored of a run on text: what rebuilds its models, and the schema of its facts."""

import dataclasses
from typing import Any, Self

from multiway.config import Config
from multiway.data.language import Vocabulary
from multiway.tasks.stored import Facts


@dataclasses.dataclass(frozen=True, kw_only=True)
class LanguageState:
    """What training learnt of the text.

    vocabulary: Its tokens.
    counts: Of each baseline, different sequences and their beginnings by length, one after the other.
    """

    vocabulary: Vocabulary
    counts: dict[str, list[int]]

    def plain(self) -> dict[str, Any]:
        """Values for JSON, exact."""
        return {"vocabulary": self.vocabulary.plain(), "counts": self.counts}

    @classmethod
    def parse(cls, plain: dict[str, Any]) -> Self:
        """Undo `plain`."""
        return cls(vocabulary=Vocabulary.parse(plain["vocabulary"]), counts=plain["counts"])


class SplitFacts(Config):
    """Size of a split."""

    documents: int
    words: int
    bytes: int
    tokens: int


class LanguageFacts(Facts):
    """Of a text."""

    splits: dict[str, SplitFacts]
