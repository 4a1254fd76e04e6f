"""The models of a run on texts: built, and what the baselines see."""

import dataclasses
from typing import Any

import torch
from torch import nn

from multiway.data.encoders import token_encoder
from multiway.data.labelled import Labelled
from multiway.data.labelled_text import TextState, make_inputs
from multiway.data.labelled_text.vocabulary import longest
from multiway.models import TunedText, create_model, target_baselines
from multiway.models.baselines import Linear, Majority
from multiway.models.tfidf import TfidfLogistic
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run
from multiway.tasks.text.config import TextConfig
from multiway.training import History

WORDS = {"majority": "majority", "tfidf": "logistic regression on TF-IDF", "vectors": "logistic regression on vectors"}
"""What the baselines are called."""
LONGEST = 2048
"""Words of a text that TF-IDF counts."""


def build(config: TextConfig, state: TextState, name: str) -> nn.Module:
    """The network, on its encoder where that is tuned; or a baseline."""
    classes = len(state.classes)
    if name == OURS:
        return _network(config, state, classes)
    if name == "tfidf":
        return TfidfLogistic(state.vocabulary.size, classes)
    return Linear(state.width, classes) if name == "vectors" else Majority(classes)


def _network(config: TextConfig, state: TextState, classes: int) -> nn.Module:
    features = state.vocabulary.size if state.inputs == "words" else state.width
    network = create_model(config.model_name, **config.network_fields(features, state.length, classes))
    return TunedText(token_encoder(config.text).network(), network) if state.inputs == "tokens" else network


def seen_by(run: Run, name: str, samples: Labelled) -> Labelled:
    """Texts as a model of the run takes them: TF-IDF counts words, and a regression on vectors needs those."""
    state, texts = run.state, samples.names["text"]
    if name == "tfidf":
        ids = state.vocabulary.ids(texts, longest(texts, LONGEST))
        return dataclasses.replace(samples, inputs=torch.from_numpy(ids))
    if name == "vectors" and state.inputs != "vectors":
        found = make_inputs("vectors", texts, state.vocabulary, state.length, run.config.text, progress=False)
        return dataclasses.replace(samples, inputs=found.values)
    return samples


def fit_baseline(model: nn.Module, training: Labelled, validation: Labelled) -> History | dict[str, Any] | None:
    """Fit a baseline in its own way, on texts as `seen_by` gives them."""
    y, held_y = (torch.from_numpy(part.truth) for part in (training, validation))
    if isinstance(model, TfidfLogistic):
        return model.fit(training.inputs, y, validation.inputs, held_y)
    return target_baselines.fit_baseline(model, training.inputs, y, validation.inputs, held_y)
