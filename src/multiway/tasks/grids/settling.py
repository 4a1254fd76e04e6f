"""Which network corrects the floors of a grid: on which squares of cells, of several the best, for how many epochs."""

import time
from collections.abc import Callable

import torch

from multiway.models import list_models
from multiway.models.grid_forecasters import GridForecasterConfig
from multiway.tasks.grids.config import NONE, GridConfig
from multiway.tasks.grids.encode import GridState, PreparedGrid
from multiway.tasks.grids.model import GridFloors, Samples, learn_start, samples_of
from multiway.tasks.grids.network import build_network, weigh_error
from multiway.tasks.options import AUTO
from multiway.tasks.protocol import Settled
from multiway.terminal import tell
from multiway.training import seed_everything, train

USUAL = "hot_grid_forecaster"
ENDING = "_grid_forecaster"
TOKENS = 1_600
"""Squares of cells in all fields of a sample, up to which they are small enough to train soon on two cores."""
SHARE, PART = 0.1, 4
"""Of a budget, for each network that races; one epoch of so many that it would be trained for is enough."""
SPARE = 0.8
"""Part of a time that epochs are planned for: a machine is not as fast at every moment."""
Clock = Callable[[], float]


def settle_network(
    config: GridConfig,
    prepared: PreparedGrid,
    spent: float,
    *,
    progress: bool = False,
    clock: Clock = time.perf_counter,
) -> Settled:
    """Which network is trained, on which squares of cells, and for how many epochs in its budget."""
    state, name, given = prepared.state, config.model.get("name", AUTO), config.model.keys() - {"name"}
    if name == NONE:
        return Settled(config.replace(model={"name": NONE}, budget=None), state)
    model = {"patch_size": choose_patch(config, state), **config.model, "name": USUAL if name == AUTO else name}
    config, budget, notes = config.replace(model=model), config.budget, list[str]()
    if budget is None:
        return Settled(config, state)
    floors = GridFloors(config.replace(model={"name": NONE}), state)
    samples = samples_of(learn_start(floors, prepared), prepared)
    started = clock()
    if name == AUTO and given <= GridForecasterConfig.model_fields.keys():
        config, note = race(config, state, samples, budget, progress=progress, clock=clock)
        notes.append(note)
    epoch, wanted = time_epoch(config, state, samples, clock), config.training.epochs_of(len(samples.training))
    left = max(budget - (clock() - started), 0.0)  # the race may take longer than it was meant to
    epochs = min(wanted, int(SPARE * left / epoch))
    note = f"The budget of the network is {budget:g} s, and an epoch takes {epoch:.2g} s"
    if not epochs:
        return Settled(config.replace(model={"name": NONE}, budget=None), state, (f"{note}: none is trained.",))
    notes += [f"{note}: {epochs} of {wanted} are trained."] if epochs < wanted else []
    return Settled(config.replace(budget=None, training={**config.training.plain(), "epochs": epochs}), state, notes)


def race(
    config: GridConfig, state: GridState, samples: Samples, budget: float, *, progress: bool, clock: Clock
) -> tuple[GridConfig, str]:
    """Settings of the network that validation prefers after a share of the budget each, and why.

    One that has no epoch in its share is too slow; where all are, the fastest is trained.
    """
    share, losses = SHARE * budget, dict[str, float]()
    entries = {name: config.replace(model={**config.model, "name": name}) for name in list_models(f"*{ENDING}")}
    seconds = {name: time_epoch(entry, state, samples, clock) for name, entry in entries.items()}
    quick = [name for name in entries if seconds[name] <= SPARE * share]
    if len(quick) < 2:
        best = min(seconds, key=lambda name: seconds[name])
        return entries[best], f"Other networks are too slow for a budget of {budget:g} s: {best} is trained."
    for name in quick:
        training = config.training
        enough = -(-training.epochs_of(len(samples.training)) // PART)
        training = training.replace(epochs=min(enough, int(SPARE * share / seconds[name])))
        seed_everything(training.seed)
        network = build_network(entries[name], state)
        assert network is not None
        losses[name] = train(network, weigh_error, samples.training, samples.validation, training).best_loss
        if progress:
            tell(f"{name}: loss {losses[name]:.4g} on validation after {training.epochs} epochs")
    best, *_ = ranked = sorted(losses, key=lambda name: losses[name])
    words = ", ".join(f"{name.removesuffix(ENDING)} {losses[name]:.4g}" for name in ranked)
    return entries[best], f"Losses on validation after {share:.3g} s each: {words}. {best} is trained."


def choose_patch(config: GridConfig, state: GridState) -> int:
    """Side of the smallest squares of which a sample has few."""
    rows, columns = state.planes[2:]
    fields = config.context + config.horizon
    sides = range(1, max(rows, columns) + 1)
    return next((side for side in sides if fields * -(-rows // side) * -(-columns // side) <= TOKENS), sides[-1])


def time_epoch(config: GridConfig, state: GridState, samples: Samples, clock: Clock = time.perf_counter) -> float:
    """Seconds of an epoch, by a step of a network that is thrown away; the first is not timed."""
    training, validation = samples
    network, size = build_network(config, state), min(config.training.batch_size, len(training))
    assert network is not None
    for _ in range(2):
        started = clock()
        total, count = weigh_error(network, training.gather(torch.arange(size)))
        (total / count).backward()
        seconds = clock() - started
    return seconds / size * (len(training) + len(validation) / 2)
