"""Everything that determines a run on text."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from multiway.models import model_config, model_defaults
from multiway.tasks.choice import Answering
from multiway.tasks.language.encode import TokenOptions
from multiway.tasks.language.source import TextOptions, TextSplit
from multiway.tasks.options import check_model, network_fields, starting_from
from multiway.training import TrainingConfig

NETWORK = "causal_transformer"
TRAINING: dict[str, Any] = {"loss": "cross_entropy", "batch_size": 32, "learning_rate": 3e-3, "weight_decay": 0.1}
"""Fields of `TrainingConfig` where text differs from a forecast."""


class LanguageConfig(Answering):
    """A run of the task `language`; stored in its folder."""

    data: str | None = None
    """A text, a folder of texts, or the name of a known data set; None for texts in memory."""
    read: TextOptions = TextOptions()
    split: TextSplit = TextSplit()
    tokens: TokenOptions = TokenOptions()
    model: dict[str, Any] = Field(default_factory=dict)
    """Fields of `CausalTransformer` without vocabulary and context; `name` is one of its named sizes."""
    baselines: tuple[Literal["unigram", "trigram"], ...] = ("unigram", "trigram")
    """Kneser-Ney models of single tokens, and of three in a row."""
    training: Annotated[TrainingConfig, starting_from(TRAINING)] = TrainingConfig.parse(TRAINING)
    """A sample is a window of tokens."""
    draws: int = Field(200, ge=0)
    """Bootstrap samples of documents, or of windows, behind each interval; 0 gives none."""

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        check_model(self.model, NETWORK, [NETWORK, "opt_*"], ("vocabulary", "context"))
        if self.training.loss != "cross_entropy":
            raise ValueError("training.loss must be cross_entropy, which is what tokens are said by")
        model_config(self.model_name, **self.network_fields(2))
        return self

    @property
    def model_name(self) -> str:
        """Name of the network."""
        return str(self.model.get("name", NETWORK))

    def network_fields(self, vocabulary: int) -> dict[str, Any]:
        """Fields of `create_model` on this text; a named size keeps its rows of the vocabulary, used or not."""
        rows = max(vocabulary, model_defaults(self.model_name).get("vocabulary", 0))
        return network_fields(self.model, vocabulary=rows, context=self.tokens.context)
