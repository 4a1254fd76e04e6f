"""A budget of seconds: how many epochs of the network fit into what reading and closed forms leave of it."""

import dataclasses
import os
import time
from collections.abc import Callable

import torch
from torch import Tensor

from multiway.config import Plain
from multiway.errors import ConfigError
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.encode import PreparedPanel
from multiway.tasks.forecasting.networks import WindowLoss, build_network, samples_of
from multiway.tasks.forecasting.windows import Groups, Windows

NO_NETWORK: Plain = {"network": False, "model": {}, "partner": "auto", "members": 1}
STEPS = 2
"""Steps of a network that are timed, after one that is not."""
SPARE = 0.8
"""Part of what is left that epochs are planned for: a machine is not as fast at every moment."""

OTHERS = 15
"""What all closed forms take, over data and ridge: fits before four stretches, for validation and for two uses."""


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
    begun = time.monotonic() - spent
    start = f"Budget of {config.budget:g} s: data and ridge took {spent:.1f} s"
    if not config.network:
        return _plan_closed_forms(config, begun, spent, f"{start}; no network is trained")
    pace = pace_of(config, prepared)
    left = config.budget - (time.monotonic() - begun) - spent - pace.scoring
    wanted = config.training.epochs_of(len(samples_of(prepared.windows["train"], config)))
    each = pace.epoch * (1 + prepared.refit_share) if config.retrains else pace.epoch
    epochs = min(int(SPARE * left / each), wanted)
    if epochs < 1:
        told = f"{start}; no network is trained, as one epoch would take {each:.1f} s"
        return _plan_closed_forms(
            config.replace(answer="auto" if config.answer == "network" else config.answer, **NO_NETWORK),
            begun,
            spent,
            told,
        )
    kept = config.replace(budget=None, training={**config.training.plain(), "epochs": epochs})
    return kept.stop_at(begun + config.budget - spent - pace.scoring), (
        f"{start}, and what follows about as long; the network is trained for {epochs} of {wanted} epochs of "
        f"{each:.1f} s each{', with those of its refits' if config.retrains else ''}."
    )


def _plan_closed_forms(config: ForecastConfig, begun: float, spent: float, told: str) -> tuple[ForecastConfig, str]:
    """All closed forms where their time is there, else ridge and the naive forecasts."""
    assert config.budget is not None
    if config.answer != "auto":
        return config.replace(budget=None), f"{told}; what follows takes about as long as data and ridge."
    others = OTHERS * spent
    if time.monotonic() - begun + others <= config.budget:
        return config.replace(budget=None), f"{told}; all other closed forms take about {others:.0f} s."
    told = f"{told}, nor any other closed form fitted, as all of them would take about {others:.0f} s."
    return config.replace(budget=None, answer="ridge"), told


def pace_of(config: ForecastConfig, prepared: PreparedPanel) -> Pace:
    """By a few steps of a network that is thrown away."""
    learnt = prepared.covariates
    features = {} if learnt is None else {"known": sum(learnt.known.values()), "seen": sum(learnt.seen.values())}
    network = build_network(config, len(prepared.panel.names), **features)
    training, *others = (samples_of(prepared.windows[name], config) for name in ("train", "validation", "test"))
    loss, batch = WindowLoss(config.training.loss, config.horizons), _batch(training, config.training.batch_size)
    steps = len(training) / len(batch["past"]) * config.training.accumulation

    def learn() -> None:
        total, count = loss(network.train(), batch)
        (total / count.clamp_min(1)).backward()

    def score() -> None:
        with torch.no_grad():
            loss(network.eval(), batch)

    step, forward = _seconds(learn), _seconds(score) / len(batch["past"])
    validated, tested = map(len, others)
    return Pace(epoch=steps * step + validated * forward, scoring=(3 * validated + tested) * forward)


def _batch(windows: Windows | Groups, size: int) -> dict[str, Tensor]:
    return windows.gather(torch.arange(min(size, len(windows))))


def _seconds(call: Callable[[], None]) -> float:
    """Of one call, the mean of a few, after the first."""
    call()
    start = time.perf_counter()
    for _ in range(STEPS):
        call()
    return (time.perf_counter() - start) / STEPS
