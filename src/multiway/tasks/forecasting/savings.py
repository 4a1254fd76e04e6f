"""What each covariate saves: the error on validation of a model that was fitted without it."""

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from multiway.models.lagged_trees import LaggedTrees
from multiway.models.weighed_forecasts import WeighedForecasts
from multiway.tasks.forecasting import candidates, network
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


def savings(model: WeighedForecasts, prepared: PreparedPanel, sizes: candidates.Sizes) -> list[Row]:
    """For each covariate the share of the error that it saves by validation: in the better regression, trees, network.

    The first two are refitted without it, in the form that they have; without what series are in one that is chosen
    anew, as it may have effects of each series in their place. A network is shown the mean of a covariate instead.
    """
    learnt, (training, validation) = prepared.covariates, (
        prepared.windows[split].of_targets() for split in ("train", "validation")
    )  # fmt: skip
    if learnt is None:
        return []
    features = [*_features("known", learnt.known), *_features("seen", learnt.seen)][:MOST]
    own, rows = dict(model.candidates.items()), []
    errors = {name: candidates.error_of(own[name], validation) for name in _heeding(own)}
    regressions = [name for name in errors if name in candidates.REGRESSIONS]
    best = min(regressions, key=errors.__getitem__, default=None)
    for name in (name for name in errors if name == best or name not in regressions):
        for feature in features:
            fewer, later = (_without(windows, feature) for windows in (training, validation))
            if feature.name in learnt.roles.static:
                made = candidates.build(name, sizes)
                candidates.fit_candidate(made, fewer, later, prepared.floor)
            else:
                made = candidates.fit_all(sizes, [name], fewer, own, prepared.floor)[name]
            rows.append(_row(feature, name, errors[name], candidates.error_of(made, later)))
    if model.heeds and getattr(model.network, "takes_covariates", False):
        windows = prepared.windows["validation"]
        error = network.error_of_network(model, windows)
        for feature in features:
            without = network.error_of_network(model, _without(windows, feature))
            rows.append(_row(feature, "network", error, without))
    return rows


def _heeding(models: Mapping[str, nn.Module]) -> list[str]:
    """Candidates that use covariates and are fitted without one in little time."""
    trees = models.get(candidates.TREES)
    heeding = isinstance(trees, LaggedTrees) and bool(trees.heeds)
    return [name for name in models if name in candidates.REGRESSIONS or (name == candidates.TREES and heeding)]


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
