"""Everything that determines a run on text."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import model_validator

from multiway.config import Plain
from multiway.models import model_defaults
from multiway.tasks.language.encode import TokenOptions
from multiway.tasks.language.source import TextOptions, TextSplit
from multiway.tasks.options import NetworkConfig, Sizes, starting_from
from multiway.training import TrainingConfig

TRAINING: Plain = {"loss": "cross_entropy", "batch_size": 32, "learning_rate": 3e-3, "weight_decay": 0.1}
"""Fields of `TrainingConfig` where text differs from a forecast."""


class LanguageConfig(NetworkConfig):
    """A run of the task `language`; stored in its folder. Intervals are over documents, or over windows of few."""

    NETWORK, NETWORKS = "causal_transformer", ("causal_transformer", "opt_*")
    BY_DATA: ClassVar[Mapping[str, Sizes]] = {"vocabulary": 2, "context": 2}

    read: TextOptions = TextOptions()
    split: TextSplit = TextSplit()
    tokens: TokenOptions = TokenOptions()
    baselines: tuple[Literal["unigram", "trigram"], ...] = ("unigram", "trigram")
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
        rows = max(set_by_data["vocabulary"], model_defaults(self.model_name).get("vocabulary", 0))
        return super().network_fields(vocabulary=rows, context=self.tokens.context)
