"""What each covariate saves: the error on validation of a regression that was fitted without it."""

import itertools
from typing import NamedTuple

import torch
from torch import Tensor

from multiway.models.weighed_forecasts import WeighedForecasts
from multiway.models.windows import fill_gaps
from multiway.tasks.forecasting import candidates
from multiway.tasks.forecasting.encode import PreparedPanel
from multiway.tasks.forecasting.windows import Windows, inputs_of
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
    """For each covariate the share of the error that it saves in the better regression, by validation."""
    named = [name for name in candidates.REGRESSIONS if name in model.candidates]
    learnt, (training, validation) = prepared.covariates, (
        prepared.windows[split].of_targets() for split in ("train", "validation")
    )  # fmt: skip
    if not named or learnt is None:
        return []
    errors = {name: _error(model.candidates[name], validation) for name in named}
    best = min(named, key=errors.__getitem__)
    rows = []
    for feature in [*_features("known", learnt.known), *_features("seen", learnt.seen)][:MOST]:
        parts = (_without(windows, feature) for windows in (training, validation))
        fewer, later = parts
        made = candidates.fit_all(sizes, [best], fewer, dict(model.candidates.items()), prepared.floor)[best]
        without = _error(made, later)
        saved = 1 - errors[best] / without if without > 0 else 0.0
        rows.append({"name": feature.name, "known": feature.part == "known", "model": best, "without": without,
                     "error": errors[best], "saved": saved})  # fmt: skip
    return rows


def _features(part: str, sizes: dict[str, int]) -> list[Feature]:
    ends = torch.tensor([0, *sizes.values()]).cumsum(0).tolist()
    return [Feature(name, part, *span) for name, span in zip(sizes, itertools.pairwise(ends), strict=True)]


def _without(windows: Windows, feature: Feature) -> Windows:
    """The same windows where a covariate says nothing."""
    assert windows.covariates is not None
    rows: Tensor = getattr(windows.covariates, feature.part).clone()
    rows[..., feature.start : feature.stop] = 0
    return windows.of_covariates(windows.covariates._replace(**{feature.part: rows}))


@torch.no_grad()
def _error(model: torch.nn.Module, windows: Windows) -> float:
    """Mean square over the cells that were observed, in scaled units."""
    total, count = 0.0, 0
    for batch in windows.batches():
        past, observed, covariates = inputs_of(batch)
        missed = batch["future"] - model(past if observed is None else fill_gaps(past, observed), covariates)
        keep = batch.get("future_observed", torch.ones_like(missed, dtype=torch.bool))
        total, count = total + float(missed[keep].double().square().sum()), count + int(keep.sum())
    return total / max(count, 1)


def about_savings(rows: list[Row]) -> list[str]:
    """One line: what covariates save, the most first."""
    if not rows:
        return []
    ranked = sorted(rows, key=lambda row: -row["saved"])
    told = [f"{row['name']} saves {row['saved']:.0%}" for row in ranked if row["saved"] >= 0.005]
    idle = [row["name"] for row in ranked if row["saved"] < 0.005]
    parts = [", ".join(told)] if told else []
    if idle:
        parts.append(f"{', '.join(idle)} {'saves' if len(idle) == 1 else 'save'} nothing")
    return [f"covariates, by the error of {rows[0]['model']} on validation without each: {'; '.join(parts)}"]
