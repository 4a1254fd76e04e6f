"""What candidates of movements of stocks share."""

from typing import Any

from multiway.models.baselines import Facts
from multiway.tasks.sample_candidate import Basis, Lesson, SampleCandidate
from multiway_papers.stocks.baselines import StockBaseline


class StockCandidate(SampleCandidate[Any]):
    """A baseline of movements, by closed forms and counts; its model is a `StockBaseline`."""

    def fit(self, model: StockBaseline, training: Lesson, validation: Lesson) -> Facts:
        """Learn from the training days; validation chooses where there is a choice."""
        return model.fit(training.samples.inputs, validation.samples.inputs)


class WordCandidate(StockCandidate):
    """One of the words of texts."""

    counts_words = "acc"

    def can_answer(self, basis: Basis) -> bool:
        """Where texts are read."""
        return bool(basis.state.words)
