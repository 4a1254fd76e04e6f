"""What each covariate saves: the error on validation of a model that was fitted without it."""

import itertools
from typing import NamedTuple

import torch
from torch import Tensor

from multiway.models.weighed_forecasts import WeighedForecasts
from multiway.tasks.forecasting import network
from multiway.tasks.forecasting.candidate import Rows, Sizes, candidates, error_of, fit_all
from multiway.tasks.forecasting.encode import PreparedPanel
from multiway.tasks.forecasting.windows import Windows
from multiway.tasks.protocol import Row

MOST = 12
"""Covariates at most that are left out one at a time."""


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
    learnt, (training, validation) = prepared.covariates, (
        prepared.windows[split].of_targets() for split in ("train", "validation")
    )  # fmt: skip
    if learnt is None:
        return []
    features = [*_features("known", learnt.known), *_features("seen", learnt.seen)][:MOST]
    own, rows, every = dict(model.candidates.items()), list[Row](), candidates()
    errors = {name: error_of(each, validation) for name, each in own.items() if every[name].heeds(each)}
    alike = {name: [other for other in errors if every[other].effects == every[name].effects] for name in errors}
    for name in (name for name in errors if name == min(alike[name], key=errors.__getitem__)):
        for feature in features:
            fewer, later = (_without(windows, feature) for windows in (training, validation))
            if feature.name in learnt.roles.static:
                made = every[name].build(sizes)
                every[name].fit(made, Rows(fewer, prepared.floor), Rows(later, prepared.floor))
            else:
                made = fit_all(sizes, [name], fewer, own, prepared.floor)[name]
            rows.append(_row(feature, name, errors[name], error_of(made, later)))
    if model.heeds and getattr(model.network, "takes_covariates", False):
        windows = prepared.windows["validation"]
        error = network.error_of_network(model, windows)
        for feature in features:
            without = network.error_of_network(model, _without(windows, feature))
            rows.append(_row(feature, "network", error, without))
    return rows


def _row(feature: Feature, model: str, error: float, without: float) -> Row:
    saved = 1 - error / without if without > 0 else 0.0
    return {"name": feature.name, "known": feature.part == "known", "model": model, "without": without,
            "error": error, "saved": saved}  # fmt: skip


def _features(part: str, sizes: dict[str, int]) -> list[Feature]:
    ends = torch.tensor([0, *sizes.values()]).cumsum(0).tolist()
    return [Feature(name, part, *span) for name, span in zip(sizes, itertools.pairwise(ends), strict=True)]


def _without(windows: Windows, feature: Feature) -> Windows:
    """The same windows where a covariate says nothing."""
    assert windows.covariates is not None
    rows: Tensor = getattr(windows.covariates, feature.part).clone()
    rows[..., feature.start : feature.stop] = 0
    return windows.of_covariates(windows.covariates._replace(**{feature.part: rows}))


def about_savings(rows: list[Row]) -> list[str]:
    """One line for each model: what covariates save in it, the most first."""
    models = dict.fromkeys(row["model"] for row in rows)
    return [_about(model, [row for row in rows if row["model"] == model]) for model in models]


def _about(model: str, rows: list[Row]) -> str:
    ranked = sorted(rows, key=lambda row: -row["saved"])
    told = [f"{row['name']} saves {row['saved']:.0%}" for row in ranked if row["saved"] >= 0.005]
    idle = [row["name"] for row in ranked if row["saved"] < 0.005]
    parts = [", ".join(told)] if told else []
    if idle:
        parts.append(f"{', '.join(idle)} {'saves' if len(idle) == 1 else 'save'} nothing")
    return f"covariates, by the error of {model} on validation without each: {'; '.join(parts)}"
