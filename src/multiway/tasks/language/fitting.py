"""How the models of a text are built and fitted."""

from typing import Any

from torch import nn

from multiway.data.language import PreparedText
from multiway.models import create_model
from multiway.models.ngrams import Counts, KneserNey, counts_of
from multiway.tasks.language.config import ORDERS, LanguageConfig
from multiway.tasks.language.facts import LanguageState
from multiway.tasks.language.scoring import TokenLoss
from multiway.tasks.protocol import OURS, Context
from multiway.training import History, train


def learn_state(config: LanguageConfig, prepared: PreparedText) -> LanguageState:
    """The vocabulary, and how much each baseline has to hold of the training text."""
    stretches, size = prepared.windows_of("train").stretches(), prepared.vocabulary.size
    counts: dict[str, list[int]] = {
        name: [number for each in counts_of(stretches, ORDERS[name], size) for number in each]
        for name in config.baselines
    }
    return LanguageState(vocabulary=prepared.vocabulary, counts=counts)


def build_model(config: LanguageConfig, state: LanguageState, name: str) -> nn.Module:
    """A network, or a baseline."""
    if name == OURS:
        return create_model(config.model_name, **config.network_fields(state.vocabulary.size))
    numbers = state.counts[name]
    return KneserNey(state.vocabulary.size, [Counts(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)])


def fit_model(
    model: nn.Module, prepared: PreparedText, config: LanguageConfig, context: Context
) -> History | dict[str, Any] | None:
    """Fit a model of a run: the network by steps, a baseline by counting."""
    windows = prepared.windows_of("train")
    if isinstance(model, KneserNey):
        model.fit(windows.stretches())
        return None
    loss = TokenLoss(config.training.label_smoothing)
    held = prepared.windows_of("validation")
    return train(model, loss, windows, held, config.training, run=context.folder, progress=context.progress)
