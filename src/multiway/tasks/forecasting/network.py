"""The models of a run: ridge and a network, how they are built, and how they are trained on windows."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal, cast, get_args

import torch
from torch import Tensor, nn

from multiway.data.scaling import Floats
from multiway.models import create_model
from multiway.models.regression import Regression, Regressors
from multiway.models.weighed_forecasts import (
    InGroups,
    MeanOfNetworks,
    WeighedForecasts,
    answers_of,
    has_quantiles,
    members_of,
)
from multiway.models.windows import Baseline, Bases, StartsFromTraining, WindowBaseline, fill_gaps
from multiway.ops.linear_models import CELLS_PER_CHUNK
from multiway.tasks.fitting import Rival, nearing
from multiway.tasks.forecasting.candidate import Rows, candidates, error_of
from multiway.tasks.forecasting.candidates.regression import leave_effects
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.covariates import LearntCovariates
from multiway.tasks.forecasting.encode import PreparedPanel, join_state
from multiway.tasks.forecasting.intervals import SHARES, Bands, fit_bands
from multiway.tasks.forecasting.outputs import at_least_zero
from multiway.tasks.forecasting.stretches import Stretch
from multiway.tasks.forecasting.windows import BATCH_CELLS, Groups, Windows, inputs_of
from multiway.tasks.protocol import OURS, Context, Fitted, Row
from multiway.tasks.run import Run
from multiway.training import LOSSES, Batch, History, TrainingConfig, train
from multiway.training.losses import by_answer, double_pinball
from multiway.training.processes import is_main, join_arrays
from multiway.training.validation import Stops, mean_loss

CONSTANT = 1e-4
"""Variance below which a step counts as constant, in units of the training rows' own."""


def model_of(run: Run) -> WeighedForecasts:
    """Our model of a forecasting run."""
    return cast(WeighedForecasts, run.models[OURS])


def all_forecasts(
    run: Run,
    past: Tensor,
    observed: Tensor | None = None,
    covariates: Regressors | None = None,
    *,
    use: str = "test",
    fitted: WeighedForecasts | None = None,
    low: Floats | None = None,
) -> dict[str, Tensor]:
    """The chosen forecast, `multiway`, and every baseline's.

    By what was `fitted` on rows whose smallest values are `low`; if not given, by what a use is fitted on.
    """
    fitted = model_of(run).fitted_for(use) if fitted is None else fitted
    low = run.state.low_for(use) if low is None else low
    baselines = {name: model(past, observed) for name, model in run.models.items() if name != OURS}
    forecasts = {**fitted.all_forecasts(past, observed, covariates), **baselines}
    return at_least_zero(forecasts, past, run.config, run.state, low)


def bands_of_baselines(run: Run, prepared: PreparedPanel) -> dict[str, Bands]:
    """Of the errors on validation of all models that are no candidates."""
    models = {name: model for name, model in run.models.items() if name != OURS}
    part = Stretch(
        prepared.windows["validation"],
        lambda past, observed, *_: {name: model(past, observed) for name, model in models.items()},
    )
    return fit_bands([part], (), len(models)) if models else {}


class WindowLoss:
    """Loss of a forecaster on a batch of windows: the mean over horizons of the mean error of their first steps.

    A forecaster may answer several times, one batch after another; the loss is the mean over its answers.

    horizons: Whose errors weigh alike; all steps if not given.
    answers: Probabilities of quantiles that are answered, each with its pinball loss; None of a forecast.
    """

    def __init__(self, name: str, horizons: Sequence[int] = (), answers: Sequence[float | None] = ()) -> None:
        self.loss = LOSSES[name]
        self.horizons = horizons
        self.given = {"every": True} if any(answers) else {}
        if any(answers):
            self.loss = by_answer(
                [self.loss if share is None else partial(double_pinball, quantile=share) for share in answers]
            )

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum over observed cells, and their number."""
        inputs = inputs_of(batch)[: 3 if getattr(model, "takes_covariates", False) else 2]
        forecast = model(*inputs, **self.given)
        target, seen = (_for_each_answer(batch.get(name), forecast) for name in ("future", "future_observed"))
        assert target is not None
        if not self.horizons:
            return self.loss(forecast, target, seen)
        shares = [target.shape[1] / (steps * len(self.horizons)) for steps in self.horizons]
        parts = [
            self.loss(forecast[:, :steps], target[:, :steps], None if seen is None else seen[:, :steps])
            for steps in self.horizons
        ]
        total, count = (
            torch.stack([share * part for share, part in zip(shares, sums, strict=True)]).sum()
            for sums in zip(*parts, strict=True)
        )
        return total, count


def _for_each_answer(cells: Tensor | None, forecast: Tensor) -> Tensor | None:
    """The cells of a batch, as often as it was answered."""
    if cells is None or len(cells) == len(forecast):
        return cells
    return cells.repeat(len(forecast) // len(cells), 1, 1)


def fit_candidates(model: WeighedForecasts, prepared: PreparedPanel) -> None:
    """Fit the candidates in the order of their cost."""
    training, validation = (
        Rows(prepared.windows[name].of_targets(), prepared.ridge) for name in ("train", "validation")
    )
    for name, each in model.candidates.items():
        candidates()[name].fit(each, training, validation)


def fit_forecaster(
    model: WeighedForecasts, prepared: PreparedPanel, config: ForecastConfig, context: Context
) -> History | None:
    """Train the network, where there is one; the candidates are fitted already."""
    if model.network is None:
        return None
    validation = prepared.windows["validation"].of_targets()
    rival = None if has_quantiles(model.network) else Rival.among(_losses_of(model, validation, config), config.answer)

    refits = prepared.refit_share if config.retrains else 0.0

    def stops(rows: Sequence[Row], left: float) -> str | None:
        if config.is_late(rows[-1]["seconds"] / len(rows) * (1 + refits * (len(rows) + 1))):
            return f"The network stopped after {rows[-1]['epoch']:g} epochs, as the time is over."
        return None if rival is None else rival.stops(rows, left)

    left = _explain_by_regression(model, prepared)
    history = train_on_windows(model.network, left, config.training, context, config, stops=stops)
    set_apart(model.network, prepared.windows["train"])
    whole = prepared.windows["validation"]
    if whole.covariates is not None and getattr(model.network, "takes_covariates", False):
        # covariates are hidden from a network that errs no more without them
        shown, hidden = (error_of_network(model, part) for part in (whole, whole.replace(covariates=None)))
        model.heeds.fill_(shown < hidden)
    return history


def _explain_by_regression(model: WeighedForecasts, prepared: PreparedPanel) -> PreparedPanel:
    """With windows of what effects of covariates leave, where a regression errs less than ridge on validation."""
    regression, windows = dict(model.candidates.items()).get("regression"), prepared.windows
    if not isinstance(regression, Regression) or windows["train"].num_targets < windows["train"].num_variates:
        return prepared
    own, ridge = (error_of(each, windows["validation"]) for each in (regression, model.floor))
    model.explained.fill_(own < ridge)
    return windows_for_network(model, prepared)


def windows_for_network(model: WeighedForecasts, prepared: PreparedPanel) -> PreparedPanel:
    """With the windows that a network is trained on: what effects leave, where validation gained."""
    if not model.explained:
        return prepared
    regression = cast(Regression, model.candidates["regression"])
    return dataclasses.replace(
        prepared, windows={name: leave_effects(each, regression) for name, each in prepared.windows.items()}
    )


def error_of_network(model: WeighedForecasts, windows: Windows) -> float:
    """Its mean square over the cells of windows that were observed."""
    return mean_loss(_Single(model, "network"), WindowLoss("mse"), windows)


def _losses_of(model: WeighedForecasts, validation: Windows, config: ForecastConfig) -> dict[str, float]:
    """Of the candidates that are fitted already, as the network is validated."""
    loss = WindowLoss(config.training.validation_loss or config.training.loss, config.horizons)
    names = [name for name in model.names if name != "network"]
    size = max(BATCH_CELLS // (validation.num_variates * (validation.lookback + validation.horizon)), 1)
    return {name: mean_loss(_Single(model, name), loss, validation, size, validation.total) for name in names}


class _Single(nn.Module):
    """One candidate as a network is called."""

    takes_covariates = True

    def __init__(self, model: WeighedForecasts, name: str) -> None:
        super().__init__()
        self.model, self.name = model, name

    def forward(self, past: Tensor, observed: Tensor | None = None, covariates: Regressors | None = None) -> Tensor:
        """Its forecast."""
        return self.model.forecasts(past, observed, [self.name], covariates)[self.name]


def join(run: Run) -> None:
    """Bring state, own matrices of ridge and bands of the series of all processes into the first."""
    bands = {name: join_arrays(each.numpy(), each.ndim - 1) for name, each in run.calibration.items() if name != SHARES}
    weights, apart = model_of(run).state_dict(), not run.state.shared
    for name, each in weights.items():
        if apart and name.endswith("ridge.weight"):
            weights[name] = torch.from_numpy(join_arrays(each.numpy(), 0))
    run.state = join_state(run.state)
    if is_main():
        run.calibration |= {name: torch.from_numpy(each) for name, each in bands.items()}
        whole = run.task.build(run.config, run.state, OURS)
        whole.load_state_dict(weights)
        run.models = {OURS: whole.eval()}


def build_forecast_baseline(name: str, config: ForecastConfig, num_variates: int) -> nn.Module:
    """A baseline of the config by its name."""
    sizes = {"num_variates": num_variates, "lookback": config.lookback, "horizon": config.horizon}
    if name in get_args(Baseline):
        return WindowBaseline(name, num_targets=config.num_targets, **sizes)  # type: ignore[arg-type]
    return create_model(name, **sizes)


def build_network(config: ForecastConfig, num_variates: int, learnt: LearntCovariates | None = None) -> nn.Module:
    """The network of the config, or several that start apart and forecast by their mean: one kind, then its partner."""
    features = {}
    if learnt is not None and config.group == "auto":  # groups of series are shown no covariates
        features = {"known": sum(learnt.known.values()), "seen": sum(learnt.seen.values())}
    kinds = [kind for kind in config.kinds(num_variates, **features) for _ in range(config.members)]
    networks = [create_model(name, **fields) for name, fields in kinds]
    network = networks[0] if len(networks) == 1 else MeanOfNetworks(networks)
    return network if config.group == "auto" else InGroups(network, config.group)


def samples_of(windows: Windows, config: ForecastConfig) -> Windows | Groups:
    """What a network is trained on: windows of all series, or of each group."""
    return windows if config.group == "auto" else Groups(windows, config.group)


def fit_forecast_baseline(
    model: nn.Module, prepared: PreparedPanel, config: ForecastConfig, context: Context
) -> Fitted:
    """Train a baseline, or fit it in closed form."""
    if not isinstance(model, WindowBaseline):
        return train_on_windows(model, prepared, config.peer_training, context, config)
    return model.fit(*_examples(model, prepared.windows["train"]), *_examples(model, prepared.windows["validation"]))


def _examples(model: WindowBaseline, windows: Windows) -> tuple[Tensor, Tensor]:
    """Features and flat targets of all windows whose targets are there."""
    batch = windows.gather(torch.arange(len(windows)))
    future, seen = batch["future"].flatten(1), batch.get("future_observed")
    keep = torch.ones(len(future), dtype=torch.bool) if seen is None else seen.flatten(1).all(1)
    return model.features(batch["past"], batch.get("past_observed"))[keep], future[keep]


def train_on_windows(
    model: nn.Module,
    prepared: PreparedPanel,
    training: TrainingConfig,
    context: Context,
    config: ForecastConfig | None = None,
    watch: Callable[[nn.Module], dict[str, list[float]]] | None = None,
    stops: Stops | None = None,
) -> History:
    """Train a forecaster; validation keeps its best weights. Horizons and groups are of a config."""
    windows, horizons = prepared.windows, () if config is None else config.horizons
    samples = {name: each if config is None else samples_of(each, config) for name, each in windows.items()}

    def ridge() -> Tensor:
        return prepared.ridge.common if isinstance(samples["train"], Groups) else prepared.ridge.weight

    start_from(model, windows["train"], ridge)
    loss, validated = (
        WindowLoss(name, horizons, answers_of(model))
        for name in (training.loss, training.validation_loss or training.loss)
    )
    return train(
        model,
        loss if context.teacher is None else nearing(context.teacher, loss),
        samples["train"],
        samples["validation"],
        training,
        validation_objective=validated,
        watch=watch,
        run=context.own_folder(),
        progress=context.progress,
        callbacks=context.callbacks,
        stops=stops,
    )


def start_from(network: nn.Module, windows: Windows, ridge: Callable[[], Tensor]) -> None:
    """Give its members what they take in closed form, before any step."""
    for member in members_of(network):
        if isinstance(member, StartsFromTraining):
            member.start_from(ridge, lambda: step_bases(windows))


def set_apart(network: nn.Module, windows: Windows) -> None:
    """Give variates without a value in the windows it was trained on a place among the others."""
    for member in members_of(network):
        if isinstance(member, StartsFromTraining):
            member.set_apart(windows.never_observed)


def step_bases(windows: Windows) -> Bases:
    """Eigenvectors of the correlation of steps, mean over variates, the largest eigenvalue first.

    Gaps hold the last observed value. A variate that is constant at a step has no correlation and is left out.
    """
    return Bases(_basis(_correlation(windows, "past")), _basis(_correlation(windows, "future")))


def _basis(correlation: Tensor) -> Tensor:
    vectors: Tensor = torch.linalg.eigh(correlation).eigenvectors
    return vectors.T.flip(0)


def _correlation(windows: Windows, part: Literal["past", "future"]) -> Tensor:
    """Pearson's over windows, `(steps, steps)` in float64; the identity if every variate is left out."""
    steps = windows.lookback if part == "past" else windows.horizon
    total = torch.zeros(windows.num_variates, steps, 1, dtype=torch.float64)
    product = torch.zeros(windows.num_variates, steps, steps, dtype=torch.float64)
    for x in _steps(windows, part):
        total += x.sum(1).unsqueeze(2)
        product.baddbmm_(x.mT, x)
    mean = total / len(windows)
    covariance = product / len(windows) - mean @ mean.mT
    variance = covariance.diagonal(dim1=1, dim2=2)
    varies = (variance > CONSTANT).all(1)
    scale = variance[varies].sqrt()
    correlation: Tensor = covariance[varies] / (scale.unsqueeze(1) * scale.unsqueeze(2))
    return correlation.mean(0) if varies.any() else torch.eye(steps, dtype=torch.float64)


def _steps(windows: Windows, part: str) -> Iterator[Tensor]:
    """All windows in chunks, `(variates, windows, steps)` in float64."""
    for batch in windows.batches(cells=CELLS_PER_CHUNK):
        seen = batch.get(f"{part}_observed")
        filled = batch[part] if seen is None else fill_gaps(batch[part], seen)
        yield filled.double().permute(2, 0, 1)
