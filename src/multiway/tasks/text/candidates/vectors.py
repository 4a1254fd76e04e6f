"""Logistic regression on the vectors of an encoder."""

from typing import Any

from multiway.data.samples import Samples
from multiway.models.baselines import Linear
from multiway.tasks.run import Run
from multiway.tasks.sample_candidate import Basis, Logistic
from multiway.tasks.text.encode import encode_vectors


class Vectors(Logistic):
    """Logistic regression on the vectors of an encoder."""

    name, words, cost = "vectors", "logistic regression on vectors", 2

    def build(self, basis: Basis) -> Linear:
        """Weights of zero for each feature of a vector."""
        return Linear(basis.state.width, len(basis.state.classes))

    def inputs(self, run: Run, samples: Samples[Any]) -> Samples[Any]:
        """Vectors, whatever the network sees."""
        if run.state.inputs == "vectors":
            return samples
        return samples.with_inputs(encode_vectors(samples.names["text"], run.config.text).values)


CANDIDATE = Vectors()
