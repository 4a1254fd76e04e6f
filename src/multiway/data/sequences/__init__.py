"""Labelled series: read, checked, split and scaled."""

from typing import TYPE_CHECKING

from multiway.data.sequences.checking import check_sequences as check_sequences
from multiway.data.sequences.options import SequenceOptions as SequenceOptions
from multiway.data.sequences.options import SequenceSplit as SequenceSplit
from multiway.data.sequences.reading import looks_like_sequences as looks_like_sequences
from multiway.data.sequences.reading import read_sequences as read_sequences
from multiway.data.sequences.sequences import Sequences as Sequences
from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.data.sequences.prepared import PreparedSequences as PreparedSequences
    from multiway.data.sequences.prepared import SequenceState as SequenceState
    from multiway.data.sequences.prepared import match_sequences as match_sequences
    from multiway.data.sequences.prepared import prepare_sequences as prepare_sequences

__getattr__ = lazily(
    __name__,
    {
        "multiway.data.sequences.prepared": (
            "PreparedSequences", "SequenceState", "match_sequences", "prepare_sequences",
        )
    },
)  # fmt: skip
