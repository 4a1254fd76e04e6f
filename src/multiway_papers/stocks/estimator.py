"""`StockMovementClassifier`: the task in scikit-learn's manners."""

from collections.abc import Sequence
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway.errors import ConfigError
from multiway.tasks.estimator import Estimator, locate, own_score, tell_far
from multiway.tasks.run import Run
from multiway_papers.stocks.answers import next_sessions
from multiway_papers.stocks.explain import DayExplanation, chosen_pairs, explain_pairs


class StockMovementClassifier(Estimator):
    """Predict rise or fall of stocks' next day, scored on later days with simple baselines. Not investment advice.

    `fit` sets `run_`, `scores_` (a frame), `tickers_` and `classes_` (0 fall, 1 rise).
    """

    task = "stocks"
    kind = "classifier"

    first = "model"

    def fit(self, prices: object, texts: object = None) -> Self:
        """Fit on frames or paths; nothing is written to disk.

        Args:
            prices: A frame with a row per ticker and day (ticker, date, open, high, low, close, adj_close, volume), a
                path of such a table or folder, or the name of a known data set.
            texts: A frame with a row per text (ticker, date or stamp, text) or its path; those next to a path of
                prices if not given.

        Raises:
            DataError: The data is not sound.
            ConfigError: An argument does not fit.
        """
        return self._fit((locate(prices), texts), self.config())

    def _take(self, run: Run) -> None:
        super()._take(run)
        self.tickers_ = np.array(run.state.tickers, dtype=object)
        self.classes_ = np.array([0, 1])

    def forecast(
        self, prices: object = None, texts: object = None, model: str | None = None, *, far: bool = False
    ) -> pd.DataFrame:
        """One row per ticker for the session after the last day of the prices; those of `fit` if none are given.

        By the answer, or the model of the run that is named. With `far`, prices that lie far outside the training are
        answered too, with a warning.
        """
        frame, notes = next_sessions(self._run().with_answer(model), self._read(prices, texts), far=far)
        tell_far(notes)
        return frame

    def predict_proba(
        self, prices: object = None, texts: object = None, model: str | None = None, *, far: bool = False
    ) -> NDArray[np.float64]:
        """Probabilities of fall and rise of the next session, `(tickers, 2)` in the order of `tickers_`.

        NaN for a ticker that no longer trades; `model` and `far` as for `forecast`.
        """
        rises = self._by_ticker(prices, texts, model, far)["p_up"].to_numpy(np.float64)
        return np.stack([1 - rises, rises], axis=1)

    def predict(
        self, prices: object = None, texts: object = None, model: str | None = None, *, far: bool = False
    ) -> NDArray[np.int64]:
        """1 for a rise in the next session, 0 for a fall, in the order of `tickers_`; -1 for one that has ended.

        `model` and `far` as for `forecast`.
        """
        rows = self._by_ticker(prices, texts, model, far)
        return np.asarray(rows["predicted"].fillna(-1).to_numpy(np.int64))

    def score(self, prices: object = None, texts: object = None) -> float:
        """Share of right directions on the test days, from the run's first test day to the last day of the prices."""
        scores = self.evaluate(prices, texts)
        (metric,) = {"acc", "mae"} & set(scores["metric"])
        value = own_score(scores, metric, model=self._run().answer.name)
        return value if metric == "acc" else -value

    def evaluate(self, prices: object = None, texts: object = None) -> pd.DataFrame:
        """Every score on the test days with intervals; on prices that reach further than those of `fit`, of them."""
        run = self._run()
        if prices is None and texts is None:
            return self.scores_[self.scores_["split"] == "test"].reset_index(drop=True)
        prepared = run.prepare_scored(self._read(prices, texts))
        return pd.DataFrame(run.task.score(run, run.task.predict(run, prepared, "test"), "test"))

    def explain(
        self,
        prices: object = None,
        texts: object = None,
        *,
        date: str | None = None,
        tickers: Sequence[str] | None = None,
        model: str | None = None,
    ) -> list[DayExplanation]:
        """Explain answers, of the most confident test errors if no day is named.

        Args:
            prices: Of the run's stocks; those of `fit` if none are given.
            texts: About them.
            date: Target day, such as 2015-11-03.
            tickers: Some of the run's.
            model: One of the run; its answer if not given.

        Returns:
            One for each day.
        """
        run = self._run().with_answer(model)
        prepared = run.task.prepare(run.config, self._read(prices, texts), run.state)
        return explain_pairs(run, prepared.encoded.inputs, chosen_pairs(run, prepared, date, tickers))

    def _by_ticker(self, prices: object, texts: object, model: str | None, far: bool) -> pd.DataFrame:
        return self.forecast(prices, texts, model, far=far).set_index("ticker").reindex(self.tickers_)

    def _read(self, prices: object, texts: object) -> object:
        run = self._run()
        if prices is not None:
            return locate(prices), texts
        if texts is not None:
            raise ConfigError("StockMovementClassifier: texts come with their prices. Give both.")
        if run.prepared is None:
            raise ConfigError("StockMovementClassifier: this one was loaded and holds no prices. Give them.")
        windows = run.prepared.raw.inputs
        return windows.panel, windows.texts
