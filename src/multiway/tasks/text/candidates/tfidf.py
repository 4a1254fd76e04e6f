"""Logistic regression on TF-IDF of the words of a text."""

from typing import Any

import torch

from multiway.data.encoders.hashed import longest
from multiway.data.samples import Samples
from multiway.models.baselines import OF_WORDS, TfidfLogistic
from multiway.tasks.candidate import LINEAR
from multiway.tasks.declarations import Fitted
from multiway.tasks.run import Run
from multiway.tasks.sample_candidate import Basis, Lesson, SampleCandidate
from multiway.tasks.text.encode import LONGEST


class Tfidf(SampleCandidate[TfidfLogistic]):
    """Logistic regression on TF-IDF of the words of a text, all of them."""

    name, words, cost, rank = "tfidf", "logistic regression on TF-IDF", 1, LINEAR
    counts_words = "acc"

    def build(self, basis: Basis) -> TfidfLogistic:
        """Weights of zero for each word that training knows."""
        return TfidfLogistic(basis.state.num_ids, len(basis.state.classes))

    def inputs(self, run: Run, samples: Samples[Any]) -> Samples[Any]:
        """Ids of words, whatever the network sees."""
        texts = samples.names["text"]
        return samples.with_inputs(torch.from_numpy(run.state.ids(texts, longest(texts, LONGEST))))

    def fit(self, model: TfidfLogistic, training: Lesson, validation: Lesson) -> Fitted:
        """Fit; validation chooses the penalty."""
        return model.fit(*training.tensors, *validation.tensors, training.penalties(OF_WORDS))


CANDIDATE = Tfidf()
