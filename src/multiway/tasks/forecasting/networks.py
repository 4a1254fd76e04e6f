"""Networks on windows: how they are built, what they lose, how they are trained, and for how long."""

import dataclasses
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, cast, get_args

import torch
from torch import Tensor, nn

from multiway.config import Plain
from multiway.errors import ConfigError
from multiway.models import create_model
from multiway.models.regression import Regressors
from multiway.models.weighed_forecasts import InGroups, MeanOfNetworks, WeighedForecasts, answers_of, members_of
from multiway.models.windows import Baseline, Bases, StartsFromTraining, WindowBaseline, fill_gaps
from multiway.ops.linear_models import CELLS_PER_CHUNK
from multiway.tasks.fitting import nearing
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.encode import PreparedPanel
from multiway.tasks.forecasting.windows import Groups, Windows, inputs_of
from multiway.tasks.protocol import OURS, Context, Fitted
from multiway.tasks.run import Run
from multiway.training import LOSSES, Batch, History, TrainingConfig, train
from multiway.training.losses import by_answer, double_pinball
from multiway.training.validation import Stops, mean_loss

CONSTANT = 1e-4
"""Variance below which a step counts as constant, in units of the training rows' own."""
NO_NETWORK: Plain = {"network": False, "model": {}, "partner": "auto", "members": 1}
STEPS = 2
"""Steps of a network that are timed, after one that is not."""
SPARE = 0.8
"""Part of what is left that epochs are planned for: a machine is not as fast at every moment."""
OTHERS = 15
"""What all closed forms take, over data and ridge: fits before four stretches, for validation and for two uses."""


def model_of(run: Run) -> WeighedForecasts:
    """Our model of a forecasting run."""
    return cast(WeighedForecasts, run.models[OURS])


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
        target, seen = batch["future"], batch.get("future_observed")
        if len(target) < len(forecast):  # the cells of a batch, as often as it was answered
            times = len(forecast) // len(target)
            target, seen = target.repeat(times, 1, 1), None if seen is None else seen.repeat(times, 1, 1)
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


class OneForecast(nn.Module):
    """One candidate of all, called as a network is."""

    takes_covariates = True

    def __init__(self, model: WeighedForecasts, name: str) -> None:
        super().__init__()
        self.model, self.name = model, name

    def forward(self, past: Tensor, observed: Tensor | None = None, covariates: Regressors | None = None) -> Tensor:
        """Its forecast."""
        return self.model.forecasts(past, observed, [self.name], covariates)[self.name]


def error_of_network(model: WeighedForecasts, windows: Windows) -> float:
    """Its mean square over the cells of windows that were observed."""
    return mean_loss(OneForecast(model, "network"), WindowLoss("mse"), windows)


def build_network(config: ForecastConfig, num_variates: int, **features: int) -> nn.Module:
    """The network of the config, or several that start apart and forecast by their mean: one kind, then its partner.

    `features` has how many those of covariates are, `known` and `seen`; groups of series are shown none.
    """
    shown = features if config.group == "auto" else {}
    kinds = [kind for kind in config.kinds(num_variates, **shown) for _ in range(config.members)]
    networks = [create_model(name, **fields) for name, fields in kinds]
    network = networks[0] if len(networks) == 1 else MeanOfNetworks(networks)
    return network if config.group == "auto" else InGroups(network, config.group)


def samples_of(windows: Windows, config: ForecastConfig) -> Windows | Groups:
    """What a network is trained on: windows of all series, or of each group, without what came before."""
    windows = windows.replace(clock=None)
    return windows if config.group == "auto" else Groups(windows, config.group)


def train_on_windows(
    model: nn.Module,
    windows: Mapping[str, Windows],
    ridge: Callable[[], Tensor],
    training: TrainingConfig,
    context: Context,
    config: ForecastConfig,
    stops: Stops | None = None,
) -> History:
    """Train a forecaster, which may start from matrices of ridge; validation keeps its best weights."""
    start_from(model, windows["train"], ridge)
    loss, validated = (
        WindowLoss(name, config.horizons, answers_of(model))
        for name in (training.loss, training.validation_loss or training.loss)
    )
    return train(
        model,
        loss if context.teacher is None else nearing(context.teacher, loss),
        samples_of(windows["train"], config),
        samples_of(windows["validation"], config),
        training,
        validation_objective=validated,
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
    parts: tuple[Literal["past", "future"], ...] = ("past", "future")
    return Bases(*(torch.linalg.eigh(_correlation(windows, part)).eigenvectors.T.flip(0) for part in parts))


def _correlation(windows: Windows, part: Literal["past", "future"]) -> Tensor:
    """Pearson's over windows, `(steps, steps)` in float64; the identity if every variate is left out."""
    steps = windows.lookback if part == "past" else windows.horizon
    total = torch.zeros(windows.num_variates, steps, 1, dtype=torch.float64)
    product = torch.zeros(windows.num_variates, steps, steps, dtype=torch.float64)
    for batch in windows.batches(cells=CELLS_PER_CHUNK):
        seen = batch.get(f"{part}_observed")
        filled = batch[part] if seen is None else fill_gaps(batch[part], seen)
        x = filled.double().permute(2, 0, 1)  # (variates, windows, steps)
        total += x.sum(1).unsqueeze(2)
        product.baddbmm_(x.mT, x)
    mean = total / len(windows)
    covariance = product / len(windows) - mean @ mean.mT
    variance = covariance.diagonal(dim1=1, dim2=2)
    varies = (variance > CONSTANT).all(1)
    scale = variance[varies].sqrt()
    correlation: Tensor = covariance[varies] / (scale.unsqueeze(1) * scale.unsqueeze(2))
    return correlation.mean(0) if varies.any() else torch.eye(steps, dtype=torch.float64)


def build_forecast_baseline(name: str, config: ForecastConfig, num_variates: int) -> nn.Module:
    """A baseline of the config by its name."""
    sizes = {"num_variates": num_variates, "lookback": config.lookback, "horizon": config.horizon}
    if name in get_args(Baseline):
        return WindowBaseline(name, num_targets=config.num_targets, **sizes)  # type: ignore[arg-type]
    return create_model(name, **sizes)


def fit_forecast_baseline(
    model: nn.Module,
    windows: Mapping[str, Windows],
    ridge: Callable[[], Tensor],
    config: ForecastConfig,
    context: Context,
) -> Fitted:
    """Train a baseline, or fit it in closed form."""
    if not isinstance(model, WindowBaseline):
        return train_on_windows(model, windows, ridge, config.peer_training, context, config)
    examples = list[Tensor]()
    for split in ("train", "validation"):
        batch = windows[split].gather(torch.arange(len(windows[split])))
        future, seen = batch["future"].flatten(1), batch.get("future_observed")
        keep = torch.ones(len(future), dtype=torch.bool) if seen is None else seen.flatten(1).all(1)
        examples += [model.features(batch["past"], batch.get("past_observed"))[keep], future[keep]]
    return model.fit(*examples)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pace:
    """Seconds that a network takes.

    epoch: Training on all windows once, and a validation.
    scoring: Its forecasts once it is trained: for the choice, and of validation and test rows.
    """

    epoch: float
    scoring: float


def plan_epochs(config: ForecastConfig, prepared: PreparedPanel, spent: float) -> tuple[ForecastConfig, str]:
    """What is trained within the budget, as settings that rebuild the run without one, and the plan in a sentence.

    spent: Seconds until here. With a network, choice, bands, a second fit and scores are reckoned to take as long;
        without one all closed forms are fitted several times, and where that is too long ridge alone is.
    """
    assert config.budget is not None
    if os.environ.get("WORLD_SIZE", "1") != "1":
        raise ConfigError("budget: several processes would plan apart. Set training.epochs in its place.")
    started = time.monotonic() - spent
    start = f"Budget of {config.budget:g} s: data and ridge took {spent:.1f} s"
    if not config.network:
        return _plan_closed_forms(config, started, spent, f"{start}; no network is trained")
    pace = pace_of(config, prepared)
    left = config.budget - (time.monotonic() - started) - spent - pace.scoring
    wanted = config.training.epochs_of(len(samples_of(prepared.windows["train"], config)))
    each = pace.epoch * (1 + prepared.refit_share) if config.retrains else pace.epoch
    epochs = min(int(SPARE * left / each), wanted)
    if epochs < 1:
        note = f"{start}; no network is trained, as one epoch would take {each:.1f} s"
        return _plan_closed_forms(
            config.replace(answer="auto" if config.answer == "network" else config.answer, **NO_NETWORK),
            started,
            spent,
            note,
        )
    kept = config.replace(budget=None, training={**config.training.plain(), "epochs": epochs})
    return kept.stop_at(started + config.budget - spent - pace.scoring), (
        f"{start}, and what follows about as long; the network is trained for {epochs} of {wanted} epochs of "
        f"{each:.1f} s each{', with those of its refits' if config.retrains else ''}."
    )


def _plan_closed_forms(config: ForecastConfig, started: float, spent: float, note: str) -> tuple[ForecastConfig, str]:
    """All closed forms where their time is there, else ridge and the naive forecasts."""
    assert config.budget is not None
    if config.answer != "auto":
        return config.replace(budget=None), f"{note}; what follows takes about as long as data and ridge."
    others = OTHERS * spent
    if time.monotonic() - started + others <= config.budget:
        return config.replace(budget=None), f"{note}; all other closed forms take about {others:.0f} s."
    note = f"{note}, nor any other closed form fitted, as all of them would take about {others:.0f} s."
    return config.replace(budget=None, answer="ridge"), note


def pace_of(config: ForecastConfig, prepared: PreparedPanel) -> Pace:
    """By a few steps of a network that is thrown away."""
    learnt = prepared.covariates
    features = {} if learnt is None else {"known": sum(learnt.known.values()), "seen": sum(learnt.seen.values())}
    network = build_network(config, len(prepared.panel.names), **features)
    training, *others = (samples_of(prepared.windows[name], config) for name in ("train", "validation", "test"))
    loss = WindowLoss(config.training.loss, config.horizons)
    batch = training.gather(torch.arange(min(config.training.batch_size, len(training))))
    steps = len(training) / len(batch["past"]) * config.training.accumulation

    def learn() -> None:
        total, count = loss(network.train(), batch)
        (total / count.clamp_min(1)).backward()

    def score() -> None:
        with torch.no_grad():
            loss(network.eval(), batch)

    seconds = []
    for call in (learn, score):
        call()
        start = time.perf_counter()
        for _ in range(STEPS):
            call()
        seconds.append((time.perf_counter() - start) / STEPS)
    step, forward = seconds[0], seconds[1] / len(batch["past"])
    validated, tested = map(len, others)
    return Pace(epoch=steps * step + validated * forward, scoring=(3 * validated + tested) * forward)
