"""Counts of tokens in a row, as candidates."""

from typing import ClassVar

from multiway.tasks.sample_candidate import Basis, Lesson, SampleCandidate
from multiway_papers.networks.next_token import KneserNey


class Counts(SampleCandidate[KneserNey]):
    """A Kneser-Ney model of tokens in a row."""

    counts_words: ClassVar[str] = "word_ppl"

    def build(self, basis: Basis) -> KneserNey:
        """As large as the counts of the training text."""
        return KneserNey.sized(basis.state.vocabulary.size, basis.state.counts[self.name])

    def fit(self, model: KneserNey, training: Lesson, validation: Lesson) -> None:
        """Count."""
        model.fit(training.samples.inputs.learnt.stretches())
