"""What training learnt of text, and a loaded run needs to rebuild its models."""

import dataclasses
from typing import Any, Self

from multiway.data.language.vocabulary import Vocabulary


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
