"""Grids in space and time: the answer against the best floor in hindsight, and HOT against convolutions and Fourier.

The sets stand here before any of them is scored. Their data are in packages, or made by a few lines below:

- `winds`: monthly winds of the US Navy, 132 x 2 x 73 x 144 (Debian `ferret-datasets`);
- `sst`: monthly OSTIA temperatures of the sea, 54 x 18 x 432, 26 % land (`iris-sample-data` of PyPI);
- `a1b` and `e1`: air temperature of North America in two scenarios, 240 years x 37 x 49 (the same);
- `vorticity`: two-dimensional turbulence with forcing and drag, 240 x 32 x 32, by a spectral solver;
- `digits`: eight films of two of scikit-learn's digits that bounce in a box, 100 x 8 x 24 x 24.

Settings of networks are the usual ones of a training; a lower learning rate did no better on the validation times of
`a1b`. Each network has about as many parameters and the same seconds of the processor; validation keeps its best epoch.
The answer is that of `--model auto`, which has as many seconds for its race and the network that wins. Test times are
scored once.

    python -m benchmarks.grids --ferret FOLDER --iris FOLDER --out results/grids.jsonl [--sets NAME ...]
"""

import argparse
import dataclasses
import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.rows import facts, keep
from multiway.lazy import load_extra
from multiway.models import list_models
from multiway.tasks import lifecycle
from multiway.tasks.grids.config import GridConfig
from multiway.tasks.grids.settling import ENDING, SPARE, settle_network
from multiway.tasks.grids.task import TASK
from multiway.tasks.options import AUTO
from multiway.tasks.protocol import NETWORK, OURS
from multiway.tasks.run import Run

Values = NDArray[np.float64]
BARS = {"each": 1.01, "mean": 0.97, "hot": 3}
"""At most these ratios to the best floor at a lead, of each and in the mean; sets on which HOT is ahead at least."""
MOST_EPOCHS = 60
TIMED = dataclasses.replace(TASK, settle=functools.partial(settle_network, clock=time.process_time))
"""The task, its budgets in seconds of the processor."""
SIZES = {"winds": (12, 6), "sst": (12, 6), "a1b": (12, 10), "e1": (12, 10), "vorticity": (6, 6), "digits": (6, 6)}
"""Fields that are seen and forecast."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.grids", description=__doc__.splitlines()[0])
    parser.add_argument("--ferret", type=Path, required=True, help="folder with monthly_navy_winds.cdf")
    parser.add_argument("--iris", type=Path, required=True, help="folder with ostia_monthly.nc")
    parser.add_argument("--sets", nargs="*", choices=list(SIZES), default=list(SIZES), help="only these sets")
    parser.add_argument("--seconds", type=float, default=20.0, help="of the processor, for the answer and each network")
    parser.add_argument("--folder", type=Path, default=Path("grids"), help="where data are written")
    parser.add_argument("--out", type=Path, help="file of rows to add to")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.folder.mkdir(exist_ok=True)
    rows = []
    for name in arguments.sets:
        path = write_set(name, arguments.folder, arguments.ferret, arguments.iris)
        rows.append(measure(name, path, arguments.seconds))
        keep(rows[-1], arguments.out, **facts())
    keep(summary(rows), arguments.out, **facts())


def measure(name: str, path: Path, seconds: float) -> dict[str, Any]:
    """A row: ratios of the answer by lead, and test errors of every network alone."""
    context, horizon = SIZES[name]
    leads, runs, clocks = range(1, horizon + 1), {}, {}
    for model in (AUTO, *list_models(f"*{ENDING}")):
        if model.startswith("factorised"):  # ten times as slow as the others on a processor
            continue
        started, short = time.process_time(), model.removesuffix(ENDING)
        how = {"model": {"name": model}, "budget": seconds / SPARE, "training": {"epochs": MOST_EPOCHS}}
        config = GridConfig(context=context, horizon=horizon, **how)
        runs[short] = lifecycle.fit_in_memory(TIMED, config, path)
        clocks[short] = round(time.process_time() - started, 1)
    run, parameters = runs.pop(AUTO), runs["hot"].models[OURS].network
    answer, best = rmse_of(run, OURS, leads), np.min([rmse_of(run, each, leads) for each in run.state.floors], axis=0)
    errors = {model: rmse_of(each, NETWORK, leads) for model, each in runs.items()}
    return {
        "set": name,
        "network of the answer": run.config.model["name"].removesuffix(ENDING),
        "answer": by_lead(answer, 4),
        "best floor": by_lead(best, 4),
        "over the best floor": by_lead(answer / best, 3),
        "networks": {model: round(float(np.sqrt((each**2).mean())), 4) for model, each in errors.items()},
        "answer over all leads": round(float(np.sqrt((answer**2).mean())), 4),
        "parameters of HOT": sum(map(torch.numel, parameters.parameters())),
        "seconds": clocks,
    }


def rmse_of(run: Run, model: str, leads: range) -> Values:
    """Test error at each lead."""
    found = {row["metric"]: row["value"] for row in run.scores if (row["model"], row["split"]) == (model, "test")}
    return np.array([found[f"rmse_{lead}"] for lead in leads])


def by_lead(values: Values, decimals: int) -> dict[str, float]:
    """Numbers by lead, from 1 on."""
    return {str(lead): round(float(each), decimals) for lead, each in enumerate(values, start=1)}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """How the bars stand over all sets."""
    ratios = [[*row["over the best floor"].values()] for row in rows]
    ahead = [
        row["set"]
        for row in rows
        if row["networks"]["hot"] < min(value for name, value in row["networks"].items() if name != "hot")
    ]
    return {
        "set": "all",
        "largest ratio": max(map(max, ratios)),
        "mean ratio": round(float(np.mean([np.mean(each) for each in ratios])), 4),
        "HOT ahead on": ", ".join(ahead) or "none",
        "bars": BARS,
    }


def write_set(name: str, folder: Path, ferret: Path, iris: Path) -> Path:
    """A set as a file that the task reads."""
    if name in ("a1b", "e1"):
        return iris / f"{name.upper()}_north_america.nc"
    if name == "sst":
        return iris / "ostia_monthly.nc"
    path = folder / f"{name}.npz"
    make: dict[str, Callable[[], dict[str, Any]]] = {
        "winds": lambda: read_winds(ferret / "monthly_navy_winds.cdf"),
        "vorticity": lambda: {"axes": np.array(["time", "y", "x"]), "vorticity": make_vorticity()},
        "digits": lambda: {"axes": np.array(["time", "member", "y", "x"]), "brightness": make_digits()},
    }
    np.savez(path, **make[name]())
    return path


def read_winds(path: Path) -> dict[str, Any]:
    """Both components side by side, in months from 1982 on."""
    with load_extra("xarray", "the benchmark", "grids").open_dataset(path, decode_times=False) as grid:
        values = np.stack([grid["UWND"].values, grid["VWND"].values], axis=1)
        places = {"lat": grid["FNOCY"].values, "lon": grid["FNOCX"].values}
    months = np.arange("1982-01", "1993-01", dtype="datetime64[M]").astype("datetime64[D]").astype(str)
    return {"axes": np.array(["time", "channel", "lat", "lon"]), "wind": values, "time": months, **places}


def make_vorticity(times: int = 240, side: int = 32, step: float = 0.02, between: int = 40) -> Values:
    """Fields of the two-dimensional Navier-Stokes equations, forced by waves and slowed by drag.

    Fourth-order Runge-Kutta in time; products by the rule of two thirds. The first 50 fields are left out.
    """
    waves = np.fft.fftfreq(side, 1 / side)
    kx, ky = np.meshgrid(waves, waves)
    squares = kx**2 + ky**2
    inverse, kept = 1 / np.where(squares == 0, np.inf, squares), (abs(kx) < side / 3) & (abs(ky) < side / 3)
    place = 2 * np.pi * np.arange(side) / side
    force = np.fft.fft2(np.tile(np.cos(4 * place)[:, None], (1, side)))

    def change(vorticity: NDArray[np.complex128]) -> NDArray[np.complex128]:
        u, v, x, y = (
            np.fft.ifft2(each).real
            for each in (1j * ky * inverse * vorticity, -1j * kx * inverse * vorticity, 1j * kx * vorticity,
                         1j * ky * vorticity)
        )  # fmt: skip
        return np.where(kept, -np.fft.fft2(u * x + v * y) + force - (0.02 + 5e-3 * squares) * vorticity, 0)

    state, fields = np.fft.fft2(np.random.default_rng(0).normal(size=(side, side))) * kept, []
    for count in range((times + 50) * between):
        one = change(state)
        two = change(state + step / 2 * one)
        three = change(state + step / 2 * two)
        state = state + step / 6 * (one + 2 * two + 2 * three + change(state + step * three))
        if (count + 1) % between == 0:
            fields.append(np.fft.ifft2(state).real)
    return np.stack(fields[50:])


def make_digits(times: int = 100, members: int = 8, side: int = 24) -> Values:
    """Films `(times, members, side, side)` of two digits each that go straight on and bounce off the walls."""
    pictures = load_extra("sklearn.datasets", "the benchmark", "trees").load_digits().images / 16
    draw, films = np.random.default_rng(0), np.zeros((times, members, side, side))
    for member in range(members):
        for picture in pictures[draw.integers(len(pictures), size=2)]:
            start, speed = draw.uniform(0, 2 * (side - 8), 2), draw.uniform(0.5, 1.5, 2) * draw.choice([-1, 1], 2)
            for time_ in range(times):
                phase = (start + time_ * speed) % (2 * (side - 8))
                row, column = np.rint(np.minimum(phase, 2 * (side - 8) - phase)).astype(int)
                window = films[time_, member, row : row + 8, column : column + 8]
                np.maximum(window, picture, out=window)
    return films


if __name__ == "__main__":
    main()
