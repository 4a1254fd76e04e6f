"""A network, or several by their mean: what is trained by steps on all variates."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import cast

from torch import Tensor, nn

from multiway.models.regression import Regression
from multiway.models.weighed_forecasts import answers_of, has_quantiles
from multiway.tasks.fitting import Rival
from multiway.tasks.forecasting.candidate import Facts, ForecastCandidate, Rows, Sizes, Training, error_of
from multiway.tasks.forecasting.candidates.regression import leave_effects
from multiway.tasks.forecasting.networks import (
    OneForecast,
    WindowLoss,
    build_network,
    error_of_network,
    samples_of,
    set_apart,
    start_from,
    train_on_windows,
)
from multiway.tasks.forecasting.ridge import ChosenRidge, choose_ridge
from multiway.tasks.forecasting.windows import BATCH_CELLS, Windows
from multiway.tasks.protocol import Row
from multiway.terminal import tell
from multiway.training import History, seed_everything, train
from multiway.training.processes import is_main
from multiway.training.validation import mean_loss


class Network(ForecastCandidate[nn.Module]):
    """The network of the settings, which is fitted last: it knows how well the others forecast."""

    name, cost = "network", math.inf
    is_summed = is_stepped = True

    def can_answer(self, facts: Facts) -> bool:
        """Where the settings have one trained."""
        return facts.network

    def build(self, sizes: Sizes) -> nn.Module:
        """From the seed of the run."""
        assert sizes.config is not None
        seed_everything(sizes.config.training.seed)
        return build_network(sizes.config, sizes.variates, known=sum(sizes.known), seen=sum(sizes.seen))

    def fit(self, model: nn.Module, training: Rows, validation: Rows) -> History:
        """Train it on what effects of covariates leave, where validation gains and rows say it; it may stop early."""
        by = _training_of(training)
        config, mixture, whole = by.config, by.mixture, by.windows["validation"]
        regression = mixture.every.get("regression")
        is_fixed = whole.covariates is not None and whole.covariates.issued is None
        if isinstance(regression, Regression) and whole.num_targets == whole.num_variates and is_fixed:
            own, ridge = (error_of(each, whole) for each in (regression, mixture.floor))
            mixture.explained.fill_(own < ridge)
        rival = None
        if not has_quantiles(model):
            rival = Rival.among(_losses_of_others(by, validation.windows), config.answer)

        def stops(rows: Sequence[Row], left: float) -> str | None:
            if config.is_late(rows[-1]["seconds"] / len(rows) * (1 + by.refits * (len(rows) + 1))):
                return f"The network stopped after {rows[-1]['epoch']:g} epochs, as the time is over."
            return None if rival is None else rival.stops(rows, left)

        windows = _leave_effects_to(by)

        def weight() -> Tensor:
            ridge = _ridge_of(by, windows, training.ridge)
            return ridge.weight if config.group == "auto" else ridge.common

        history = train_on_windows(model, windows, weight, config.training, by.context, config, stops)
        set_apart(model, by.windows["train"])
        if whole.covariates is not None and getattr(model, "takes_covariates", False):
            # covariates are hidden from a network that errs no more without them
            shown, hidden = (error_of_network(mixture, part) for part in (whole, whole.replace(covariates=None)))
            mixture.heeds.fill_(shown < hidden)
        return history

    def refit(self, model: nn.Module, fitted: nn.Module | None, data: Rows) -> None:
        """Train it from the seed on other windows; the epochs and the schedule are as they were."""
        by, windows = _training_of(data), data.whole
        assert windows is not None
        config, context = by.config, by.context
        if context.progress and is_main():
            tell(f"training the network again, for {by.epochs:g} epochs on {len(windows.rows):,} rows")
        first = _leave_effects_to(by)
        if by.mixture.explained:
            windows = leave_effects(windows, cast(Regression, data.others["regression"]))

        def weight() -> Tensor:
            ridge = _ridge_of(by, first, data.ridge)
            ridge = ridge if config.group == "auto" else dataclasses.replace(ridge, shared=True)
            return ridge.refit(windows.of_targets())

        start_from(model, windows, weight)
        train(
            model,
            WindowLoss(config.training.loss, config.horizons, answers_of(model)),
            samples_of(windows, config),
            None,
            config.training.replace(epochs=config.training.epochs_of(len(samples_of(first["train"], config)))),
            epochs=by.epochs,
            run=context.own_folder(),
            progress=context.progress,
        )
        set_apart(model, windows)
        model.to("cpu").eval()


def _training_of(rows: Rows) -> Training:
    assert rows.training is not None
    return rows.training


def _leave_effects_to(by: Training) -> Mapping[str, Windows]:
    """The windows that a network is trained on: what effects of covariates leave, where validation gained."""
    if not by.mixture.explained:
        return by.windows
    regression = cast(Regression, by.mixture.candidates["regression"])
    return {split: leave_effects(by.windows[split], regression) for split in ("train", "validation")}


def _ridge_of(by: Training, windows: Mapping[str, Windows], ridge: ChosenRidge) -> ChosenRidge:
    """The ridge of the windows that it is trained on."""
    if windows is by.windows:
        return ridge
    return choose_ridge(windows["train"].of_targets(), windows["validation"].of_targets())


def _losses_of_others(by: Training, validation: Windows) -> dict[str, float]:
    """Of the candidates that are fitted already, as the network is validated."""
    loss = WindowLoss(by.config.training.validation_loss or by.config.training.loss, by.config.horizons)
    size = max(BATCH_CELLS // (validation.num_variates * (validation.lookback + validation.horizon)), 1)
    return {
        name: mean_loss(OneForecast(by.mixture, name), loss, validation, size, validation.total)
        for name in by.mixture.candidates
    }


CANDIDATE = Network()
