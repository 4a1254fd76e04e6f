"""`TextClassifier`: the task in scikit-learn's manners."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Self

import pandas as pd

from multiway.data.labelled_text.loading import listed_texts
from multiway.tasks.class_estimator import SampleClassifier
from multiway.tasks.estimator import estimator
from multiway.tasks.text.explaining import explain_words


@estimator
class TextClassifier(SampleClassifier):
    """Classify texts with a head on a frozen encoder, an encoder that is tuned, or a network from scratch.

    Texts are a list, a series or an array of str.

    Args:
        inputs: vectors (of a frozen encoder), tokens (the encoder is tuned) or words (from scratch).
        encoder: auto, minilm, hashed, or any encoder of Hugging Face by name or folder.
        epochs: Passes over the training texts at most.
        validation: Share of the texts that choose the best epoch.
        test: Share of the texts that are scored once, at the end.
        baselines: Some of majority, tfidf and vectors.
        seed: Seed of everything random but the split, whose seed is `settings["split"]["seed"]`.
        settings: Other fields of `TextConfig`, nested: `{"model": {"layer": "linear"}, "training": {"patience": 3}}`.
        progress: Show a bar or lines on stderr.

    `fit` sets `run_`, `scores_` (a frame) and `classes_`.
    """

    task = "text"

    _: dataclasses.KW_ONLY
    inputs: str = "vectors"
    encoder: str = "auto"
    validation: float = 0.15
    test: float = 0.2
    baselines: Sequence[str] = ("majority", "tfidf", "vectors")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit on texts and their classes; nothing is written to disk but vectors in the cache.

        Raises:
            DataError: The texts are not sound, or too few to be split.
        """
        return super().fit(listed_texts(X), y)

    def explain(self, X: Any) -> pd.DataFrame:
        """How far the probability of each text's class falls when a word is left out: a row per word."""
        texts = listed_texts(X)
        return explain_words(self._run(), self._unlabelled(texts), len(texts))
