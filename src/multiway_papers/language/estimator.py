"""`LanguageModel`: the task in scikit-learn's manners."""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.tasks.estimator import Estimator, locate, own_score
from multiway_papers.language.encode import TokenDocuments
from multiway_papers.language.scores import answers, token_table


class LanguageModel(Estimator):
    """Say each token of a text from those before it, scored on held-out text with counts of tokens as baselines.

    Texts are a list or a series, a path, or the name of a known data set.

    `fit` sets `run_` and `scores_` (a frame).
    """

    task = "language"

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit on texts; nothing is written to disk, and y is not looked at.

        Raises:
            DataError: The texts are not sound, or too few to be split.
        """
        return self._fit(locate(X), self.config(X))

    def generate(
        self,
        X: Any,
        tokens: int = 32,
        *,
        temperature: float = 0.0,
        seed: int = 0,
        model: str | None = None,
        far: bool = False,
    ) -> list[str]:
        """Continue each text by so many tokens, or to its end.

        Args:
            X: Texts.
            tokens: To write at most.
            temperature: 0 takes the most probable token, 1 draws as the model says.
            seed: Of the draws; a text alone is continued as among others.
            model: Name of a model of the run; the one that answers if not given.
            far: Continue texts that lie far outside the training too.
        """
        answering = self._run().with_answer(model).answering
        found = answers(answering, self._later(X, far), tokens=tokens, temperature=temperature, draw=seed)
        return [str(text) for text in found["continuation"]]

    def surprise(self, X: Any, model: str | None = None, *, far: bool = False) -> pd.DataFrame:
        """A row per text: its tokens, nats per token, and bits per byte, by the answer or a model of the run.

        With `far`, texts that lie far outside the training are answered too, with a warning.
        """
        return answers(self._run().with_answer(model).answering, self._later(X, far), tokens=0)

    def explain(self, X: Any) -> pd.DataFrame:
        """A row per token of texts: how surprising it is, in bits, to the network and to each baseline."""
        documents = self._prepared(X).encoded.inputs
        return token_table(self._run().models, documents, len(documents))

    def predict(self, X: Any, model: str | None = None, *, far: bool = False) -> NDArray[np.float64]:
        """Nats per token of each text; `model` and `far` as for `surprise`."""
        return self.surprise(X, model, far=far)["nats_per_token"].to_numpy()

    def _later(self, X: Any, far: bool) -> TokenDocuments:
        """Texts as tokens; where `far` is False, none far outside the training."""
        later = self._prepared(X)
        self._guarded(later.raw, later.raw.source, far)
        documents: TokenDocuments = later.encoded.inputs
        return documents

    def evaluate(self, X: Any) -> pd.DataFrame:
        """Every score on other texts, with intervals, and those of the baselines."""
        return self._scores_of(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean nats per token."""
        return -own_score(self.evaluate(X), "loss", model=self._run().answer.name)
