"""Everything that determines a run that classifies texts, and its models: built, and what the baselines see."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from multiway.config import Config, merge
from multiway.data.encoders import EncoderOptions, token_encoder
from multiway.data.samples import Samples
from multiway.data.splitting import Folds
from multiway.models import TunedText, create_model, list_models, model_config, target_baselines
from multiway.models.baselines import Linear, Majority
from multiway.models.tfidf import TfidfLogistic
from multiway.tasks.options import check_model, network_fields
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run
from multiway.tasks.text.encode import InputKind, TextState, WordOptions, encoded_vectors, longest
from multiway.tasks.text.source import LabelledTextOptions
from multiway.training import History, TrainingConfig

Baseline = Literal["majority", "tfidf", "vectors"]
NETWORKS: dict[InputKind, tuple[str, ...]] = {
    "words": ("text_classifier*", "tga_text*"), "vectors": ("text_head*",), "tokens": ("text_head*",)
}  # fmt: skip
"""Patterns of the models that take each kind of inputs; the first names the usual one."""
TRAINING: dict[InputKind, dict[str, Any]] = {
    "words": {"epochs": 10, "batch_size": 32, "learning_rate": 1e-3, "weight_decay": 0.05},
    "vectors": {"epochs": 40, "batch_size": 32, "learning_rate": 5e-3, "patience": 8},
    "tokens": {"epochs": 3, "batch_size": 32, "learning_rate": 5e-5, "patience": 0},
}
"""Fields of `TrainingConfig` where classes of texts differ from a forecast."""

WORDS = {"majority": "majority", "tfidf": "logistic regression on TF-IDF", "vectors": "logistic regression on vectors"}
"""What the baselines are called."""
LONGEST = 2048
"""Words of a text that TF-IDF counts."""


def usual_training(inputs: InputKind) -> dict[str, Any]:
    """Fields of `TrainingConfig` for a kind of inputs."""
    return {"loss": "cross_entropy", **TRAINING[inputs]}


class TextConfig(Config):
    """A run of the task `text`; stored in its folder."""

    data: str | None = None
    """A table of texts, or the name of a known data set; None for lists in memory."""
    read: LabelledTextOptions = LabelledTextOptions()
    split: Folds = Folds()
    """By the column of splits where one is named; else at random. Copies of a text, whatever its case and blanks, are
    never in two splits."""
    inputs: InputKind = "vectors"
    """What the network sees: words of the training rows' vocabulary, learnt from scratch; vectors of a frozen encoder;
    or tokens of an encoder that is tuned with its head."""
    words: WordOptions = WordOptions()
    text: EncoderOptions = EncoderOptions()
    """Encoder of vectors and tokens; `max_tokens` holds for words too."""
    model: dict[str, Any] = Field(default_factory=dict)
    """`name` of a network for these inputs and its fields, without the sizes that the data set."""
    baselines: tuple[Baseline, ...] = ("majority", "tfidf", "vectors")
    """Class shares; logistic regression on TF-IDF; logistic regression on the vectors of the encoder."""
    training: TrainingConfig = TrainingConfig.parse(usual_training("vectors"))
    draws: int = Field(200, ge=0)
    """Bootstrap samples of texts, or of groups, behind each interval; 0 gives none."""

    @model_validator(mode="before")
    @classmethod
    def _training_suits_the_inputs(cls, given: Any) -> Any:
        """What is given stands above what is usual for the kind of inputs."""
        inputs = given.get("inputs", "vectors") if isinstance(given, dict) else None
        if inputs not in TRAINING or not isinstance(given.get("training", {}), dict):
            return given
        return {**given, "training": merge(usual_training(inputs), given.get("training", {}))}

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        names, sizes = known_networks(self.inputs), _sizes(self.inputs, 16, 8, 2)
        check_model(self.model, names[0], names, tuple(sizes))
        if self.training.loss != "cross_entropy" or self.training.validation_loss not in (None, "cross_entropy"):
            raise ValueError("classes are trained with training.loss=cross_entropy")
        model_config(self.model_name, **network_fields(self.model, **sizes))
        return self

    @property
    def model_name(self) -> str:
        """Name of the network."""
        return str(self.model.get("name", known_networks(self.inputs)[0]))

    def network_fields(self, features: int, length: int, classes: int) -> dict[str, Any]:
        """Fields of `create_model`: ids of words or features of a vector, words of a text, and classes."""
        return network_fields(self.model, **_sizes(self.inputs, features, length, classes))


def known_networks(inputs: InputKind) -> Sequence[str]:
    """Names of the networks that take a kind of inputs, the usual one first."""
    return [name for pattern in NETWORKS[inputs] for name in list_models(pattern)]


def _sizes(inputs: InputKind, features: int, length: int, classes: int) -> dict[str, int]:
    if inputs == "words":
        return {"num_words": features, "num_tokens": length, "num_classes": classes}
    return {"in_features": features, "num_classes": classes}


def build(config: TextConfig, state: TextState, name: str) -> nn.Module:
    """The network, on its encoder where that is tuned; or a baseline."""
    classes = len(state.classes)
    if name == OURS:
        return _network(config, state, classes)
    if name == "tfidf":
        return TfidfLogistic(state.num_ids, classes)
    return Linear(state.width, classes) if name == "vectors" else Majority(classes)


def _network(config: TextConfig, state: TextState, classes: int) -> nn.Module:
    features = state.num_ids if state.inputs == "words" else state.width
    network = create_model(config.model_name, **config.network_fields(features, state.length, classes))
    return TunedText(token_encoder(config.text).network(), network) if state.inputs == "tokens" else network


def seen_by(run: Run, name: str, samples: Samples[Tensor]) -> Samples[Tensor]:
    """Texts as a model of the run takes them: TF-IDF counts words, and a regression on vectors needs those."""
    state, texts = run.state, samples.names["text"]
    if name == "tfidf":
        ids = state.ids(texts, longest(texts, LONGEST))
        return dataclasses.replace(samples, inputs=torch.from_numpy(ids))
    if name == "vectors" and state.inputs != "vectors":
        return dataclasses.replace(samples, inputs=encoded_vectors(texts, run.config.text).values)
    return samples


def fit_text_baseline(
    model: nn.Module, training: Samples[Tensor], validation: Samples[Tensor]
) -> History | dict[str, Any] | None:
    """Fit a baseline in its own way, on texts as `seen_by` gives them."""
    y, held_y = (part.target_tensor for part in (training, validation))
    if isinstance(model, TfidfLogistic):
        return model.fit(training.inputs, y, validation.inputs, held_y)
    return target_baselines.fit_baseline(model, training.inputs, y, validation.inputs, held_y)
