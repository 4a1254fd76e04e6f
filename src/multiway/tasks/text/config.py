"""Everything that determines a run that classifies texts."""

from collections.abc import Mapping
from typing import Self

from pydantic import model_validator
from torch import nn

from multiway.config import Plain, merge
from multiway.data.encoders import EncoderOptions, chosen_encoder, token_encoder
from multiway.data.splitting import Folds
from multiway.models import TunedText, create_model, model_config
from multiway.models.target_baselines import OF_TEXTS, TextBaseline
from multiway.tasks.options import RunConfig, check_class_losses, check_model, network_fields
from multiway.tasks.text.encode import InputKind, TextState, WordOptions
from multiway.tasks.text.source import LabelledTextOptions
from multiway.training import TrainingConfig

NETWORKS: dict[InputKind, tuple[str, ...]] = {
    "words": ("text_classifier*", "tga_text*"),
    "vectors": ("text_head*",),
    "tokens": ("text_head*",),
}
"""Patterns of the models that take each kind of inputs; the first names the usual one."""
TRAINING: dict[InputKind, Plain] = {
    "words": {"epochs": 10, "batch_size": 32, "learning_rate": 1e-3, "weight_decay": 0.05},
    "vectors": {"epochs": 40, "batch_size": 32, "learning_rate": 5e-3, "patience": 8},
    "tokens": {"epochs": 3, "batch_size": 32, "learning_rate": 5e-5, "patience": 0},
}
"""Fields of `TrainingConfig` where classes of texts differ from a forecast."""


def usual_training(inputs: InputKind) -> Plain:
    """Fields of `TrainingConfig` for a kind of inputs."""
    return {"loss": "cross_entropy", **TRAINING[inputs]}


class TextConfig(RunConfig):
    """A run of the task `text`; stored in its folder. Data are a table of texts, or lists in memory."""

    read: LabelledTextOptions = LabelledTextOptions()
    split: Folds = Folds()
    """By the column of splits where one is named; else at random. Copies of a text, whatever its case and blanks, are
    never in two splits."""
    inputs: InputKind = "words"
    """What the network sees: words of the training rows' vocabulary, learnt from scratch; vectors of a frozen encoder;
    or tokens of an encoder that is tuned with its head. If not given, vectors of the encoder that `text` names or of
    MiniLM where it is installed, else words: vectors of hashed words tell less than the words."""
    words: WordOptions = WordOptions()
    text: EncoderOptions = EncoderOptions()
    """Encoder of vectors and tokens; `max_tokens` holds for words too."""
    baselines: tuple[TextBaseline, ...] = OF_TEXTS
    """Class shares; logistic regression on TF-IDF; logistic regression on the vectors of the encoder."""
    training: TrainingConfig = TrainingConfig.parse(usual_training("words"))

    @model_validator(mode="before")
    @classmethod
    def _usual_inputs_and_training(cls, given: object) -> object:
        """Inputs suit the encoder and the model, training suits the inputs; what is given stands above both."""
        if not isinstance(given, dict):
            return given
        inputs = given.get("inputs") or usual_inputs(given)
        if inputs not in TRAINING or not isinstance(given.get("training", {}), dict):
            return given
        return {**given, "inputs": inputs, "training": merge(usual_training(inputs), given.get("training", {}))}

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        sizes = _sizes(self.inputs, 16, 8, 2)
        check_model(self.model, usual_network(self.inputs), NETWORKS[self.inputs], tuple(sizes))
        check_class_losses(self.training)
        model_config(self.model_name, **network_fields(self.model, **sizes))
        return self

    @property
    def model_name(self) -> str:
        """Name of the network."""
        return str(self.model.get("name", usual_network(self.inputs)))

    def network(self, state: TextState) -> nn.Module:
        """The network, on its encoder where that is tuned."""
        features = state.num_ids if state.inputs == "words" else state.width
        sizes = _sizes(self.inputs, features, state.length, len(state.classes))
        network = create_model(self.model_name, **network_fields(self.model, **sizes))
        return TunedText(token_encoder(self.text).network(), network) if state.inputs == "tokens" else network


def usual_inputs(given: Mapping[str, object]) -> InputKind:
    """Inputs that a named model takes, else vectors where the encoder is a network, else words."""
    model, text = given.get("model"), given.get("text")
    name = model.get("name") if isinstance(model, dict) else None
    if name is not None:
        return "vectors" if str(name).startswith("text_head") else "words"
    encoder = text.get("encoder", "auto") if isinstance(text, dict) else getattr(text, "encoder", "auto")
    return "words" if chosen_encoder(EncoderOptions(encoder=str(encoder))) == "hashed" else "vectors"


def usual_network(inputs: InputKind) -> str:
    """Name of the network that takes a kind of inputs, if none is given."""
    return NETWORKS[inputs][0].removesuffix("*")


def _sizes(inputs: InputKind, features: int, length: int, classes: int) -> dict[str, int]:
    """Fields that the data set: ids of words or features of a vector, words of a text, and classes."""
    if inputs == "words":
        return {"num_words": features, "num_tokens": length, "num_classes": classes}
    return {"in_features": features, "num_classes": classes}
