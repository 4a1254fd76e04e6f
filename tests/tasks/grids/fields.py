"""A small made-up field: a season, anomalies that last, and land."""

import numpy as np

LATITUDES, LONGITUDES = np.array([-40.0, 0.0, 50.0]), np.array([0.0, 90.0, 180.0, 270.0, 300.0])
LAND = (1, 3)
"""The one cell without values."""


def make_field(times=90, seed=0, kept=0.8):
    """Values `(times, 3, 5)` around 280, by months: a season of 6 that grows with latitude, and anomalies that last."""
    draw = np.random.default_rng(seed)
    anomalies = np.zeros((times, 3, 5))
    for row in range(1, times):
        anomalies[row] = kept * anomalies[row - 1] + draw.normal(0, 1, (3, 5)) + draw.normal(0, 1)
    season = np.sin(2 * np.pi * np.arange(times) / 12)[:, None, None] * np.abs(LATITUDES)[:, None] / 10
    values = 280 + season + anomalies
    values[:, *LAND] = np.nan
    return values


def months(times=90, start="2001-01"):
    """Days in the middle of months, as words."""
    return np.array([f"{month}-15" for month in np.arange(start, times + np.datetime64(start), dtype="datetime64[M]")])


def write_npz(path, values, start="2001-01", **more):
    arrays = {"time": months(len(values), start), "lat": LATITUDES, "lon": LONGITUDES, "units": np.array(["K"])}
    np.savez(path, sst=values, axes=np.array(["time", "lat", "lon"]), **{**arrays, **more})
    return path
