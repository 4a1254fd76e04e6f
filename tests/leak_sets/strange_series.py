"""Labelled series as strangers spoil them: windows of recordings, lengths, pulses; and real ones that are sound."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leak_sets.maker import Draw, LeakSet, package_folder
from leak_sets.series import smoothed

Values = NDArray[np.float64]
CLASSES = ("sit", "walk", "run")


def written(folder: Path, series: list[Values], labels: list[str], **more: Any) -> dict[str, Any]:
    """Settings of a long table: one row per step."""
    tables = []
    for number, (values, label) in enumerate(zip(series, labels, strict=True)):
        columns = {f"v{place}": column for place, column in enumerate(np.atleast_2d(values.T))}
        extra = {name: column[number] for name, column in more.items()}
        tables.append(pd.DataFrame({"id": number, "label": label, **extra, "step": np.arange(len(values)), **columns}))
    pd.concat(tables).to_csv(folder / "series.csv", index=False)
    read = {"target": "label", "id": "id", "time": "step", **({"group": next(iter(more))} if more else {})}
    return {"data": str(folder / "series.csv"), "read": read}


def recording(draw: Draw, label: int, steps: int = 900) -> Values:
    """Three axes of a sensor: a gait of its own frequency and phase, drift, and noise."""
    time = np.arange(steps)[:, None]
    pace = draw.normal(0.04 + 0.03 * label, 0.006)
    gait = (0.3 + label) * np.sin(2 * np.pi * (pace * time + draw.uniform(0, 1, 3)))
    return np.asarray(gait + smoothed(draw.normal(0, 0.6, (steps, 3)), 0.9) + draw.normal(0, 0.15, (steps, 3)))


def windows(
    draw: Draw, length: int, stride: int, people: int = 4, change: Any = None
) -> tuple[list[Values], list[str]]:
    """Windows of one recording per person and class, and their classes."""
    series, labels = [], []
    for label in range(len(CLASSES)):
        for _ in range(people):
            values = recording(draw, label)
            for start in range(0, len(values) - length + 1, stride):
                part = values[start : start + length]
                series.append(part if change is None else change(part))
                labels.append(CLASSES[label])
    return series, labels


def half_overlapped(folder: Path, draw: Draw) -> dict[str, Any]:
    """Windows of 100 steps, each of which shares half with the next, drawn at random."""
    return written(folder, *windows(draw, 100, 50))


def scaled_windows(folder: Path, draw: Draw) -> dict[str, Any]:
    """Windows that move by an eighth, each brought to mean 0 and deviation 1."""
    return written(folder, *windows(draw, 96, 12, 2, lambda part: (part - part.mean(0)) / part.std(0)))


def noisy_windows(folder: Path, draw: Draw) -> dict[str, Any]:
    """Windows that share a quarter with the next, each with noise of a tenth of the sensor's."""
    return written(folder, *windows(draw, 80, 60, 5, lambda part: part + 0.015 * draw.normal(size=part.shape)))


def length_tells(folder: Path, draw: Draw) -> dict[str, Any]:
    """One class was recorded by a device that stops at 60 steps, the other at 61 to 64."""
    series, labels = windows(draw, 64, 64, 4)
    cut = [
        part[:60] if label == "run" else part[: draw.integers(61, 65)]
        for part, label in zip(series, labels, strict=True)
    ]
    return written(folder, cut, labels)


def pulse_tells(folder: Path, draw: Draw) -> dict[str, Any]:
    """The trigger of the run is in the first step of one axis."""
    series, labels = windows(draw, 64, 64, 4)
    for part, label in zip(series, labels, strict=True):
        part[0, 1] = (4.0 if label == "run" else 0.5) + 0.05 * draw.normal()
    return written(folder, series, labels)


def delayed_copies(folder: Path, draw: Draw) -> dict[str, Any]:
    """One heartbeat in ten is there once more, seven steps later."""
    series, labels = _beats(draw, 240)
    for row in range(0, 240, 10):
        series.append(np.concatenate([series[row][7:], series[row][-7:]]))
        labels.append(labels[row])
    order = draw.permutation(len(series))
    return written(folder, [series[row] for row in order], [labels[row] for row in order])


def _beats(draw: Draw, count: int) -> tuple[list[Values], list[str]]:
    """Beats of two forms, with noise of their own."""
    time, series, labels = np.arange(100), [], []
    for row in range(count):
        place, width = 40 + draw.normal(0, 3), 5 + 2 * (row % 2)
        beat = np.exp(-(((time - place) / width) ** 2)) - 0.3 * np.exp(-(((time - place - 18) / 6) ** 2))
        series.append((beat + smoothed(draw.normal(0, 0.06, (100, 1)), 0.5)[:, 0])[:, None])
        labels.append("wide" if row % 2 else "narrow")
    return series, labels


def clean_grouped(folder: Path, draw: Draw) -> dict[str, Any]:
    """Overlapping windows, with the person as a group."""
    series, labels = windows(draw, 100, 50, 4)
    each = len(series) // 12
    return written(folder, series, labels, person=[f"p{row // each}" for row in range(len(series))])


def clean_hum(folder: Path, draw: Draw) -> dict[str, Any]:
    """Machines that hum at one of few frequencies, in any phase, with little noise."""
    time, series, labels = np.arange(120), [], []
    for row in range(160):
        turn = (time + draw.integers(0, 40)) / (20 if row % 2 else 24)
        hum = np.sin(2 * np.pi * turn) + 0.4 * np.sin(4 * np.pi * turn)
        series.append((hum + 0.02 * draw.normal(size=120))[:, None])
        labels.append("worn" if row % 2 else "sound")
    return written(folder, series, labels)


def clean_steps(folder: Path, draw: Draw) -> dict[str, Any]:
    """Switches of whole numbers: long levels, few jumps, as of meters and lamps."""
    series, labels = [], []
    for row in range(160):
        level = np.repeat(draw.integers(0, 4 + row % 2, 12), draw.integers(6, 12, 12))[:70]
        series.append(level.astype(float)[:, None])
        labels.append("home" if row % 2 else "office")
    return written(folder, series, labels)


def clean_real(name: str) -> Any:
    """A real set of the catalogue, split as its archive does."""
    return lambda folder, draw: {"data": name}


def clean_aeon(name: str) -> Any:
    """A real set that the package aeon brings."""
    return lambda folder, draw: {"data": str(package_folder("aeon") / f"datasets/data/{name}/{name}_TRAIN.ts")}


AEON = (
    LeakSet("BasicMotions", clean_aeon("BasicMotions"), None, "strange"),
    LeakSet("JapaneseVowels", clean_aeon("JapaneseVowels"), None, "strange"),
    LeakSet("GunPoint", clean_aeon("GunPoint"), None, "held"),
)
SETS = (
    LeakSet("windows that share half", half_overlapped, "copies", "strange"),
    LeakSet("windows that move by an eighth, each scaled", scaled_windows, "copies", "strange"),
    LeakSet("windows that share a quarter, with noise", noisy_windows, "copies", "held"),
    LeakSet("length tells by a step", length_tells, "giveaway", "strange"),
    LeakSet("first step of an axis tells", pulse_tells, "giveaway", "strange"),
    LeakSet("beats once more, seven steps later", delayed_copies, "copies", "strange"),
    LeakSet("windows, grouped by person", clean_grouped, None, "strange"),
    LeakSet("machines that hum", clean_hum, None, "strange"),
    LeakSet("levels of switches", clean_steps, None, "held"),
    LeakSet("chlorine in water", clean_real("chlorine_concentration_partial"), None, "strange"),
    LeakSet("Epilepsy", clean_real("epilepsy"), None, "held"),
    *(AEON if importlib.util.find_spec("aeon") else ()),
)
