"""Every setting of the task `language`."""

import dataclasses
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from multiway.config import Config, Flag, Plain
from multiway.data.options import Budget, Shares, TestShare, ValidationShare
from multiway.tasks.candidate import baseline_of
from multiway.tasks.options import LAYER, NetworkConfig, Sizes, starting_from
from multiway.tasks.settings import Predict, TaskSettings
from multiway.training.config import TrainingConfig

Baseline = Annotated[str, baseline_of("multiway_papers.language.candidates", "language")]
TRAINED = ("train", "audit")
TRAINING: Plain = {"loss": "cross_entropy", "batch_size": 32, "learning_rate": 3e-3, "weight_decay": 0.1}
"""Fields of `TrainingConfig` where text differs from a forecast."""


class TextOptions(Budget):
    """Where the text stands, and where a document ends."""

    column: Annotated[str | None, Flag("Column of the text in a table or in JSON lines.")] = None
    """Column of the text in a table or in JSON lines; `text`, or the only column, if not given."""
    documents: Annotated[
        Literal["auto", "file", "line", "paragraph", "heading"], Flag("What a document of a text file is.")
    ] = "auto"
    """What a document of a text file is: all of it, a line, a paragraph, or what follows a heading `= Title =`, as in
    WikiText; `auto` looks for such headings. Rows of a table are documents."""
    most_documents: int | None = Field(None, ge=1)
    """Documents to read of each file at most; all if not given."""
    encoding: str | None = None
    """Text encoding; UTF-8, else Windows-1252, if not given."""


class TextSplit(Shares):
    """Shares of the text, the last of it for the test; files called train, validation and test are such splits."""

    validation: ValidationShare = 0.1
    """Share to choose the best epoch on."""
    test: TestShare = 0.1
    """Share to test on, once, at the end."""


class TokenOptions(Config):
    """What the network reads: tokens, and how many at once."""

    tokenizer: Annotated[str, Flag("bpe, bytes, a folder or name.", commands=TRAINED), Field(min_length=1)] = "bpe"
    """bpe: byte pairs learnt from the training text, with the library tokenizers; bytes: each byte a token; or the
    folder or the name of a tokenizer of Hugging Face."""
    vocabulary: Annotated[int, Flag("Tokens of bpe.", commands=TRAINED), Field(ge=300)] = 4096
    """Tokens of `bpe` at most."""
    context: Annotated[int, Flag("Tokens read at once.", commands=TRAINED), Field(ge=2)] = 128
    """Tokens of a window; windows do not overlap, and none crosses a document's end."""
    most_tokens: int | None = Field(None, ge=1)
    """Tokens of training text to learn from, the first ones in whole windows; all if not given."""


class LanguageConfig(NetworkConfig):
    """A run of the task `language`; stored in its folder. Intervals are over documents, or over windows of few."""

    NETWORK, NETWORKS = "causal_transformer", ("causal_transformer", "opt_*")
    BY_DATA: ClassVar[Mapping[str, Sizes]] = {"vocabulary": 2, "context": 2}

    read: TextOptions = TextOptions()
    split: TextSplit = TextSplit()
    tokens: TokenOptions = TokenOptions()
    model: Annotated[Plain, dataclasses.replace(LAYER, usual="linear")] = Field(default_factory=dict)
    """Fields of the network without those that the data set; `name` is one of its named sizes."""
    baselines: Annotated[tuple[Baseline, ...], Flag("Some of unigram and trigram.", commands=())] = (
        "unigram",
        "trigram",
    )
    """Kneser-Ney models of single tokens, and of three in a row."""
    training: Annotated[TrainingConfig, starting_from(TRAINING)] = TrainingConfig.parse(TRAINING)
    """A sample is a window of tokens."""

    @model_validator(mode="after")
    def _loss_fits(self) -> Self:
        if self.training.loss != "cross_entropy":
            raise ValueError("training.loss must be cross_entropy, which is what tokens are said by")
        return self

    def network_fields(self, **set_by_data: Sizes) -> Plain:
        """Fields of `create_model` on this text; a named size keeps its rows of the vocabulary, used or not."""
        from multiway.models import model_defaults

        rows = max(set_by_data["vocabulary"], model_defaults(self.model_name).get("vocabulary", 0))
        return super().network_fields(vocabulary=rows, context=self.tokens.context)


def read_count(text: str) -> int:
    """A whole number, 0 among them."""
    if not text.isdecimal():
        raise ValueError("give a whole number")
    return int(text)


class LanguagePredict(Predict):
    """Options of `multiway predict`."""

    tokens: Annotated[int | None, Flag("Tokens to write per text; 0 only scores.", read=read_count)] = None
    temperature: Annotated[
        float | None, Flag("0 takes the most probable token, 1 draws as the model says; 0 if not given.")
    ] = None
    draw: Annotated[int | None, Flag("Seed of what is drawn.", read=read_count)] = None


class Explain(Config):
    """Options of `multiway explain`."""

    first: Annotated[int | None, Flag("Test documents to take apart; 4 if not given.")] = None


LANGUAGE = TaskSettings(
    name="language",
    purpose="Each token of a text from those before it.",
    example="--data stories.txt",
    config=LanguageConfig,
    data="source:TEXT",
    uses={"predict": LanguagePredict, "explain": Explain},
)
