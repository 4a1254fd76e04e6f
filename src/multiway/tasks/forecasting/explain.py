"""What the network attended to, under the user's own names, and what each covariate saves."""

import functools
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from multiway.errors import ConfigError, Fix, RunError
from multiway.explain import Explanation as Explanation
from multiway.explain import (
    ModeMap,
    deletion_test,
    draw_explanation,
    lag_labels,
    load_explanation,
    mode_maps,
    save_explanation,
    strongest,
    time_labels,
)
from multiway.explain.occlusion import Positions
from multiway.files import atomic_folder
from multiway.models import HOTForecaster
from multiway.models.blocks import need_maps
from multiway.models.regression import Regressors
from multiway.models.weighed_forecasts import WeighedForecasts, members_of
from multiway.report import text
from multiway.report.sections import PagePart, Table, TableCell
from multiway.tasks.answers import Answer
from multiway.tasks.forecasting.candidate import Rows, Sizes, candidates, error_of, refit_candidates
from multiway.tasks.forecasting.encode import PreparedPanel
from multiway.tasks.forecasting.networks import error_of_network, model_of
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.forecasting.plan import knows_ahead, window_ahead
from multiway.tasks.forecasting.windows import Windows, covariates_of, last_window
from multiway.tasks.page_parts import NOT_ATTRIBUTION, maps_part
from multiway.tasks.protocol import Row
from multiway.tasks.run import Run

FOLDER = "explanation"
MODES = ("variate", "time")
MAX_WINDOWS = 256
Shown = tuple[Tensor, Tensor | None, Regressors | None]
"""Pasts, which cells of them are there, and covariates."""
DELETION_WINDOWS = 64
DELETION_HEADS = ("Error, attended most", "Error, at random", "Error, nothing hidden")
DELETION_NOTE = (
    "If attention marks what matters, hiding what is attended most should hurt more than hiding as much at random."
)
MOST = 12
"""Covariates at most that are left out one at a time."""


def explain_windows(run: Run, panel: Panel, windows: Windows | None) -> Explanation:
    """One map per mode and block: of the last window of a panel, and averaged over at most 256 windows, evenly spread.

    Raises:
        RunError: The run has no network.
        ConfigError: The network has no map per mode.
    """
    patch, lookback = network_of(run).config.patch_length, run.config.lookback
    if run.state.covariates is not None and not knows_ahead(panel, run.config.horizon):
        panel = panel.slice(0, panel.num_rows - run.config.horizon)  # the last window of which all is known
    past, observed = last_window(panel, run.state.scaler, lookback)
    shown: Shown = (past, observed, window_ahead(run.config, run.state.covariates, panel, None))
    times = (*time_labels(panel.times[-lookback:], patch), *_steps_ahead(run, patch))
    last = _maps(run, shown, times, sample="last window")
    if windows is None:
        return Explanation(average=last, last=last)
    batch = windows.spread(MAX_WINDOWS)
    shown = (batch["past"], batch.get("past_observed"), covariates_of(batch))
    average = _maps(run, shown, (*lag_labels(lookback, patch), *_steps_ahead(run, patch)))
    return Explanation(average=average, last=last)


def _steps_ahead(run: Run, patch: int) -> tuple[str, ...]:
    """Names of the patches of the horizon, where the network sees covariates that are known ahead."""
    if not (network_of(run).config.known and model_of(run).heeds):
        return ()
    return tuple(f"step {start + 1}–{start + patch}" for start in range(0, run.config.horizon, patch))


def find_networks_with_maps(run: Run) -> list[HOTForecaster]:
    """The networks of a run that have a map per mode of the whole panel."""
    members = members_of(model_of(run).network) if run.config.group == "auto" else []
    return [member for member in members if isinstance(member, HOTForecaster) and member.config.has_maps]


def network_of(run: Run) -> HOTForecaster:
    """The first network of a run, which must have a map per mode."""
    members = members_of(model_of(run).network)
    if run.config.group != "auto":
        raise RunError("explain: the network sees groups of series, and none has a map of all. Leave group out.")
    if not members:
        raise RunError(
            "explain: the run has no network, and no other candidate attends to anything. Set network to true (",
            Fix("network", True),
            ").",
        )
    network = members[0]
    if not isinstance(network, HOTForecaster):
        raise ConfigError(
            f"explain: a {type(network).__name__} has no map of variates and times. Set model.name to hot_forecaster (",
            Fix("model.name", "hot_forecaster"),
            ").",
        )
    need_maps(network, network.config)
    return network


@torch.no_grad()
def _maps(run: Run, windows: Shown, times: Sequence[str], sample: str = "") -> list[ModeMap]:
    """Maps of every network of a run, its heads next to those of the others."""
    shown = model_of(run).shown(*windows)
    own = [network.forward_with_maps(*shown)[1] for network in find_networks_with_maps(run)]
    maps = [[torch.cat(modes, 1) for modes in zip(*blocks, strict=True)] for blocks in zip(*own, strict=True)]
    return mode_maps(maps, MODES, (run.state.names, times), sample=sample)


def write_explanation(run: Run, out: Path | None) -> Answer:
    """Write the stored maps as arrays and PNG files, next to the run or elsewhere; say what is strongest."""
    assert run.folder is not None
    network_of(run)
    stored = run.folder.path / FOLDER
    maps = load_explanation(stored)
    notes = strongest(maps.average)
    if out is None:
        return Answer(files=draw_explanation(stored, maps), notes=notes)
    with atomic_folder(out, replace=True) as made:
        save_explanation(made, maps)
        return Answer(files=draw_explanation(made, maps), notes=notes).within(out)


def attention_part(run: Run, prepared: PreparedPanel | None) -> PagePart:
    """Maps over test windows, and the deletion test where the data are still there."""
    maps = load_explanation(run.folder.path / FOLDER).average if run.folder and find_networks_with_maps(run) else []
    tested = None if prepared is None or not maps else _deletion(run, prepared.windows["test"], maps)
    side = [
        "One map per mode. Each row is a position that looks.",
        "The shade says how much of its look falls on each column.",
        NOT_ATTRIBUTION,
    ]
    return maps_part(maps, side, [tested])


def _deletion(run: Run, windows: Windows, maps: Sequence[ModeMap]) -> Table | None:
    """Hide what the first block attends to most, and as much at random, and see what the forecast loses."""
    batch = windows.spread(DELETION_WINDOWS)
    tests = [
        (item, deletion_test(item, functools.partial(_error_without, run, batch, item.mode)))
        for item in maps
        if item.layer == 0 and len(item.key_labels) > 1 and not (item.mode == "time" and _steps_ahead(run, 1))
    ]
    if not tests:
        return None
    decimals = text.decimals_for([error for _, test in tests for error in (test.error_attended, test.error_random)])
    return Table(
        title="Deletion test",
        columns=["Mode", TableCell("Hidden", style="left"), *DELETION_HEADS],
        rows=[
            [
                item.mode,
                TableCell(f"{test.num_hidden} of {len(item.key_labels)}", style="left"),
                *(
                    text.number(error, decimals)
                    for error in (test.error_attended, test.error_random, test.error_intact)
                ),
            ]
            for item, test in tests
        ],
        note=DELETION_NOTE,
    )


@torch.no_grad()
def _error_without(run: Run, batch: dict[str, Tensor], mode: str, positions: Positions) -> float:
    """Squared error of the network where it cannot see some positions of a mode."""
    model, covariates = model_of(run), covariates_of(batch)
    seen = batch.get("past_observed", torch.ones_like(batch["past"], dtype=torch.bool)).clone()
    if mode == "time":
        seen.unflatten(1, (-1, network_of(run).config.patch_length))[:, positions] = False
    else:
        seen[:, :, positions] = False
    forecast = model.forecasts(batch["past"], seen, ["network"], covariates)["network"]
    return float((forecast - batch["future"]).square().mean())


class Feature(NamedTuple):
    """A covariate, when it is known, and where its features stand among those of `Regressors`."""

    name: str
    part: str
    start: int
    stop: int


def savings(model: WeighedForecasts, prepared: PreparedPanel, sizes: Sizes) -> list[Row]:
    """For each covariate the share of the error that it saves by validation.

    Candidates that use it are refitted without it, in the form that they have; without what series are in one that is
    chosen anew, as it may have effects of each series in their place. A network is shown its mean instead.
    """
    learnt = prepared.covariates
    if learnt is None:
        return []
    features = list[Feature]()
    for part, widths in (("known", learnt.known), ("seen", learnt.seen)):
        ends = torch.tensor([0, *widths.values()]).cumsum(0).tolist()
        features += [Feature(name, part, *span) for name, span in zip(widths, itertools.pairwise(ends), strict=True)]
    features = features[:MOST]
    training, validation = (prepared.windows[split].of_targets() for split in ("train", "validation"))
    own, every, found = dict(model.candidates.items()), candidates(), list[tuple[Feature, str, float, float]]()
    errors = {name: error_of(each, validation) for name, each in own.items() if every[name].heeds(each)}
    alike = {name: [other for other in errors if every[other].effects == every[name].effects] for name in errors}
    for name in (name for name in errors if name == min(alike[name], key=errors.__getitem__)):
        for feature in features:
            fewer, later = (_hide_feature(windows, feature) for windows in (training, validation))
            if feature.name in learnt.roles.static:
                made = every[name].build(sizes)
                every[name].fit(made, Rows(fewer, prepared.ridge), Rows(later, prepared.ridge))
            else:
                made = refit_candidates(sizes, [name], own, Rows(fewer, prepared.ridge))[name]
            found.append((feature, name, errors[name], error_of(made, later)))
    if model.heeds and getattr(model.network, "takes_covariates", False):
        windows = prepared.windows["validation"]
        error = error_of_network(model, windows)
        for feature in features:
            found.append((feature, "network", error, error_of_network(model, _hide_feature(windows, feature))))
    return [
        {
            "name": feature.name,
            "known": feature.part == "known",
            "model": name,
            "without": without,
            "error": error,
            "saved": 1 - error / without if without > 0 else 0.0,
        }
        for feature, name, error, without in found
    ]


def _hide_feature(windows: Windows, feature: Feature) -> Windows:
    """The same windows where a covariate says nothing."""
    assert windows.covariates is not None
    return windows.replace(covariates=windows.covariates.hide(feature.part, feature.start, feature.stop))


def words_on_savings(rows: list[Row]) -> list[str]:
    """One line for each model: what covariates save in it, the most first."""
    lines = []
    for model in dict.fromkeys(row["model"] for row in rows):
        ranked = sorted((row for row in rows if row["model"] == model), key=lambda row: -row["saved"])
        helping = [f"{row['name']} saves {row['saved']:.0%}" for row in ranked if row["saved"] >= 0.005]
        idle = [row["name"] for row in ranked if row["saved"] < 0.005]
        parts = [", ".join(helping)] if helping else []
        if idle:
            parts.append(f"{', '.join(idle)} {'saves' if len(idle) == 1 else 'save'} nothing")
        lines.append(f"covariates, by the error of {model} on validation without each: {'; '.join(parts)}")
    return lines
