"""What validation decides: ridge, network or a blend, and the intervals around it."""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway import ops
from multiway.models.ridge_and_network import RidgeAndNetwork
from multiway.models.windows import LinearFloor, fill_gaps
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.encode import PreparedPanel
from multiway.tasks.forecasting.floor import Floor, normal_equations
from multiway.tasks.forecasting.windows import Windows
from multiway.tasks.protocol import Row

Forecast = Callable[[Tensor, Tensor | None], Tensor]
Errors = NDArray[np.float32]
MAX_CELLS = 100_000_000
"""Of errors that are held at once."""
MAX_ORIGINS = 10
SMALLEST = 0.2
"""Share of the training windows that a fit out of time has at least."""


def calibrate(model: RidgeAndNetwork, prepared: PreparedPanel, config: ForecastConfig) -> tuple[Tensor, Row]:
    """Set the network's weight in each step; radii of the intervals, and what was chosen and on how much."""
    training, validation = prepared.windows["train"].of_targets(), prepared.windows["validation"]
    selection = None if model.network is None else choose_shares(model, validation, config)
    model.weight.copy_(torch.zeros(config.horizon) if selection is None else torch.from_numpy(selection.weights))

    def earlier() -> NDArray[np.float32]:
        """Errors of ridge, as much larger as ours are on validation; none that are smaller."""
        errors = out_of_time_errors(training, prepared.floor)
        return errors if selection is None else errors * np.float32(_excess(selection))

    radii = fit_radii(validation, model, config.levels, earlier if training.chosen is None else None)
    facts = {**_facts_of(selection), "ridge": prepared.floor.facts()}
    learnt = ~training.never_observed
    few = radii.by_student[..., learnt].double().mean((1, 2)).tolist()
    return radii.values, {"selection": facts, "intervals": {"windows": len(validation), "by_student": few}}


def _excess(selection: ops.Selection) -> float:
    return max(1.0, selection.blend_error / selection.floor_error) ** 0.5 if selection.floor_error > 0 else 1.0


@torch.no_grad()
def choose_shares(model: RidgeAndNetwork, windows: Windows, config: ForecastConfig) -> ops.Selection:
    """Weigh ridge and network by their squared errors on validation windows, or as the config decides."""
    stops = ops.horizon_bands(config.horizon)
    parts = [_error_sums(model, batch, stops) for batch in windows.batches()]
    selection = ops.select_blend(*torch.cat(parts, 1).numpy(), stops=stops, lookback=config.lookback)
    return selection if config.selection == "auto" else _decided(selection, config.selection == "network")


def _decided(selection: ops.Selection, network: bool) -> ops.Selection:
    """All steps from one of the two."""
    shares = tuple(dataclasses.replace(share, weight=float(network)) for share in selection.shares)
    error = selection.network_error if network else selection.floor_error
    return dataclasses.replace(selection, shares=shares, blend_error=error)


def _error_sums(model: RidgeAndNetwork, batch: dict[str, Tensor], stops: tuple[int, ...]) -> Tensor:
    """Products a, b, c and z of the errors, summed over a window's observed cells, and cells: `(5, windows, bands)`."""
    target = batch["future"]
    keep = batch.get("future_observed", torch.ones_like(target, dtype=torch.bool))
    forecasts = model.all_forecasts(batch["past"], batch.get("past_observed"))
    floor, network, last = (
        torch.where(keep, forecasts[name] - target, 0).double() for name in ("ridge", "network", "naive")
    )
    products = [x * y for x, y in ((floor, floor), (floor, network), (network, network), (last, last))]
    by_step = torch.stack([*products, keep.double()]).sum(3)
    return torch.stack([band.sum(2) for band in by_step.tensor_split(stops[:-1], 2)], 2)


def sentence(selection: ops.Selection | None) -> str:
    """Which forecast was chosen and by how much, in one sentence."""
    if selection is None:
        return "ridge: no network was trained."
    s = selection
    if s.choice == "floor":
        return f"ridge: validation does not show that the network adds to it ({_evidence(s)})."
    gain = 100 * (1 - s.blend_error / s.floor_error) if s.floor_error > 0 else 0.0
    side = "below" if gain >= 0 else "above"
    what = "the network" if s.choice == "network" else f"a blend (network {_mixture(s)})"
    return f"{what}, {abs(gain):.1f} % {side} ridge on validation ({_evidence(s)}, chosen {s.blend_error:.4f})."


def _mixture(s: ops.Selection) -> str:
    """The network's share: one, or from the first steps to the last."""
    if len({share.weight for share in s.shares}) == 1:
        return f"{s.weight:.0%}"
    return ", ".join(f"{share.weight:.0%} to step {share.stop}" for share in s.shares)


def _evidence(s: ops.Selection) -> str:
    blocks = s.shares[-1].blocks
    errors = f"validation MSE ridge {s.floor_error:.4f}, network {s.network_error:.4f}"
    return f"{errors}; {blocks} independent block{'s' if blocks != 1 else ''}"


def _facts_of(selection: ops.Selection | None) -> Row:
    """A selection with its sentence, for JSON, which has no infinity."""
    if selection is None:
        return {"sentence": sentence(None)}
    fields = dataclasses.asdict(selection)
    shares = fields.pop("shares")
    for share in shares:
        share["deviation"] = share["deviation"] if math.isfinite(share["deviation"]) else None
    return {"sentence": sentence(selection), "weight": selection.weight, "shares": shares, **fields}


class Radii(NamedTuple):
    """Half-widths, scaled, and which of them are by Student's t, `(levels, horizon, variates)` both."""

    values: Tensor
    by_student: Tensor


def fit_radii(
    windows: Windows, forecast: Forecast, levels: Sequence[float], earlier: Callable[[], Errors] | None = None
) -> Radii:
    """Half-widths from the errors on validation windows.

    Overlapping windows are not exchangeable and the future may be harder than validation; coverage is therefore
    measured. Where all errors would not fit into memory, every k-th window is used. A cell with too few errors for
    the rank of a level is given a Student-t tail, for which `earlier` brings more of them. See `ops.conformal_radii`
    and `ops.student_radii`.
    """
    if not levels:
        return Radii(*torch.zeros(2, 0, windows.horizon, windows.num_targets))
    stride = math.ceil(len(windows) * windows.horizon * windows.num_targets / MAX_CELLS)
    shares, errors = [level / 100 for level in levels], errors_of(windows, forecast, stride)
    few = ops.is_too_few(errors, shares)
    radii = ops.conformal_radii(errors, shares)
    if few.any():
        every = errors if earlier is None else np.concatenate([errors, earlier()], -1)
        radii = np.where(few, np.maximum.accumulate(np.where(few, ops.student_radii(every, shares), radii)), radii)
    return Radii(torch.from_numpy(radii), torch.from_numpy(few))


@torch.no_grad()
def errors_of(windows: Windows, forecast: Forecast, stride: int = 1) -> Errors:
    """Absolute errors of every k-th window, `(horizon, variates, windows)`; NaN where nothing was observed."""
    errors = []
    for batch in windows.batches(torch.arange(0, len(windows), stride)):
        error = (forecast(batch["past"], batch.get("past_observed")) - batch["future"]).abs_()
        observed = batch.get("future_observed")
        errors.append((error if observed is None else torch.where(observed, error, torch.nan)).permute(1, 2, 0))
    return torch.cat(errors, -1).numpy()


def out_of_time_errors(training: Windows, floor: Floor) -> NDArray[np.float32]:
    """Absolute errors `(horizon, variates, windows)` from rolling origins; NaN where nothing was observed.

    At each origin ridge is fitted on the rows before it, under the penalty and of the kind that were chosen, and
    forecasts the windows whose targets begin in the `horizon` rows from there.
    """
    horizon = training.horizon
    last = training.first + len(training) + training.lookback - horizon
    errors = [np.empty((horizon, training.num_variates, 0), np.float32)]
    for origin in range(last, training.first, -horizon)[:MAX_ORIGINS]:
        earlier = training.between(training.first, origin)
        if len(earlier) < max(SMALLEST * len(training), 1):
            break
        errors.append(errors_of(training.between(origin, origin + 2 * horizon - 1), _ridge(earlier, floor)))
    return np.concatenate(errors, -1)


def _ridge(windows: Windows, floor: Floor) -> Forecast:
    """A forecast fitted on windows, with the penalty and the number of matrices of another."""
    gram, cross = normal_equations(windows)
    if floor.shared:
        gram, cross = gram.sum(0, keepdim=True), cross.sum(0, keepdim=True)
    [weight] = ops.ridge_path(gram, cross, [floor.penalty])
    model = LinearFloor(len(weight), windows.horizon, windows.lookback, trained=False)
    model.set_weight(weight.float())

    def forecast(past: Tensor, observed: Tensor | None) -> Tensor:
        return model(past if observed is None else fill_gaps(past, observed))  # type: ignore[no-any-return]

    return forecast
