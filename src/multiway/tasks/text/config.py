"""Everything that determines a run that classifies texts."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from multiway.config import Config, Flag, Plain, merge
from multiway.data.options import EncoderOptions, FileOptions, Folds
from multiway.tasks.candidate import baseline_of
from multiway.tasks.options import Refitting, RunConfig, check_class_losses, check_model, network_fields
from multiway.tasks.settings import TaskSettings
from multiway.training.config import TrainingConfig

TextBaseline = Annotated[str, baseline_of("multiway.tasks.text.candidates", "text")]
OF_TEXTS = ("majority", "tfidf", "vectors")
TARGET_NAMES = ("label", "target", "class", "category", "sentiment", "y")
TRAINED = ("train", "audit")
InputKind = Literal["words", "vectors", "tokens"]
"""What a network sees of a text."""
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


class WordOptions(Config):
    """The vocabulary of the training rows."""

    max_words: int = Field(20_000, ge=2)
    """Most words with an id of their own; the most frequent ones."""
    min_count: int = Field(2, ge=1)
    """Training texts that a word is in at least; rarer ones are one unknown word."""


class LabelledTextOptions(FileOptions):
    """Which columns hold the texts and their classes, and which rows are kept."""

    as_names, usual_names = ("target", "group"), TARGET_NAMES

    text: Annotated[str | None, Flag("Column of texts; found if not given.")] = None
    second: Annotated[str | None, Flag("Column of a second text, such as an answer.")] = None
    target: Annotated[str | None, Flag("Column of classes; found if not given.")] = None
    kind: Annotated[Literal["classes", "labels"], Flag("What it holds: a class, or labels as sport;news.")] = "classes"
    group: Annotated[str | None, Flag("Column whose rows stay in one split, such as an author.")] = None
    split: Annotated[str | None, Flag("Column that says train, validation or test.")] = None
    """Column that says which split a row is in: train, validation or dev, test. Without test rows, dev is the test."""
    where: dict[str, str] = Field(default_factory=dict)
    """Rows to keep, by the cell of a column: {dataset: mr}."""
    first: int | None = Field(None, ge=1)
    """Only so many of these rows, from the top; of each split where a column says it."""
    empty: Literal["error", "keep"] = "error"
    """Rows without a text: refuse, or keep as texts without words."""

    @model_validator(mode="after")
    def _roles_differ(self) -> Self:
        given = [self.text, self.second, self.target, self.group, self.split]
        named = [name for name in given if name is not None]
        if len(set(named)) < len(named):
            raise ValueError(f"text, second, target, group and split are different columns. Got {', '.join(named)}")
        if self.group is not None and self.split is not None:
            raise ValueError("rows are split by group or by a column of splits. Leave out one of them")
        return self


class Encoder(EncoderOptions):
    """Which encoder, and how it is run."""

    encoder: Annotated[
        str, Flag("minilm, hashed, or any encoder of Hugging Face, by name or folder.", commands=TRAINED)
    ] = "auto"


class TextConfig(Refitting, RunConfig):
    """A run of the task `text`; stored in its folder. Data are a table of texts, or lists in memory."""

    read: LabelledTextOptions = LabelledTextOptions()
    split: Folds = Folds()
    """By the column of splits where one is named; else at random. Copies of a text, whatever its case and blanks, are
    never in two splits."""
    inputs: Annotated[
        InputKind,
        Flag(
            "What the network sees: words from scratch, vectors of a frozen encoder, or an encoder that is tuned.",
            commands=TRAINED,
            usual=None,
        ),
    ] = "words"
    """What the network sees: words of the training rows' vocabulary, learnt from scratch; vectors of a frozen encoder;
    or tokens of an encoder that is tuned with its head. If not given, vectors of the encoder that `text` names or of
    MiniLM where it is installed, else words: vectors of hashed words tell less than the words."""
    words: WordOptions = WordOptions()
    text: Encoder = Encoder()
    """Encoder of vectors and tokens; `max_tokens` holds for words too."""
    baselines: Annotated[tuple[TextBaseline, ...], Flag("Some of majority, tfidf and vectors.", commands=())] = OF_TEXTS
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
        check_class_losses(self.training)
        if self.model:
            from multiway.models import model_config  # the usual network is one, and needs no torch to say so

            sizes = network_sizes(self.inputs, 16, 8, 2)
            check_model(self.model, usual_network(self.inputs), NETWORKS[self.inputs], tuple(sizes))
            model_config(self.model_name, **network_fields(self.model, **sizes))
        return self

    @property
    def model_name(self) -> str:
        """Name of the network."""
        return str(self.model.get("name", usual_network(self.inputs)))


def usual_inputs(given: Mapping[str, object]) -> InputKind:
    """Inputs that a named model takes, else vectors where the encoder is a network, else words."""
    model, text = given.get("model"), given.get("text")
    name = model.get("name") if isinstance(model, dict) else None
    if name is not None:
        return "vectors" if str(name).startswith("text_head") else "words"
    encoder = text.get("encoder", "auto") if isinstance(text, dict) else getattr(text, "encoder", "auto")
    from multiway.data.encoders import choose_encoder  # asks which libraries are there, and only where it matters

    return "words" if choose_encoder(EncoderOptions(encoder=str(encoder))) == "hashed" else "vectors"


def usual_network(inputs: InputKind) -> str:
    """Name of the network that takes a kind of inputs, if none is given."""
    return NETWORKS[inputs][0].removesuffix("*")


def network_sizes(inputs: InputKind, features: int, length: int, classes: int) -> dict[str, int]:
    """Fields that the data set: ids of words or features of a vector, words of a text, and classes."""
    if inputs == "words":
        return {"num_words": features, "num_tokens": length, "num_classes": classes}
    return {"in_features": features, "num_classes": classes}


class Explain(Config):
    """Options of `multiway explain`."""

    count: Annotated[int | None, Flag("Test texts to explain; 10 if not given.")] = None


TEXT = TaskSettings(
    name="text",
    purpose="Classes or labels of texts.",
    example="--data reviews.csv",
    config=TextConfig,
    data="source:TEXTS",
    uses={"explain": Explain},
)
