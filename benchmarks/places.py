"""Classes of images by what they show, wherever it lies: the usual network, and what its parts are worth.

    PYTHONPATH=src:tests python -m benchmarks.places shapes --seeds 3 --out results/image-places.jsonl

Shapes and textures are drawn with noise, digits are scikit-learn's; the estimator splits them by its seed, chooses on
validation and scores the test rows once. A majority and a logistic regression stand beside each network.
"""

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn import datasets

import multiway
from benchmarks.answers import row_of
from benchmarks.rows import facts, keep
from multiway.errors import MultiwayWarning

SIZE, COUNT = 32, 1_500
FORMS: dict[str, dict[str, Any]] = {
    "usual": {},
    "all positions": {"pooling": "none"},
    "two convolutions": {"channels": (32, 64)},
    "as before": {"channels": (32, 64), "pooling": "none", "dropout": 0.2, "logit_dropout": 0.3},
}
"""Settings of the network; all but the last differ from the usual one in one field."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.places", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these sets")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=Path, help="append one JSON line per set, form and seed")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", MultiwayWarning)
    for row in measured(chosen.names or list(SETS), chosen.seeds):
        keep(row, chosen.out, **{**facts(), "seed": row["seed"]})


def measured(names: list[str], seeds: int) -> Iterator[dict[str, Any]]:
    """A row per set, seed and form of the network: test accuracies of all candidates."""
    for name in names:
        for seed in range(seeds):
            pictures, classes = SETS[name](np.random.default_rng([seed, len(name)]))
            for form, model in FORMS.items():
                found = multiway.ImageClassifier(seed=seed, settings={"model": model}).fit(pictures, classes)
                yield {"set": name, "form": form, "seed": seed, **row_of(found.run_)}


def shapes(draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Discs, squares, rings and crosses of any size, turn and place."""
    kinds = draw.integers(0, 4, COUNT)
    rows, columns = np.mgrid[:SIZE, :SIZE]
    pictures = np.empty((COUNT, SIZE, SIZE))
    for place, kind in enumerate(kinds):
        radius, turn = draw.uniform(4, 8), draw.uniform(0, np.pi / 2)
        y, x = (axis - draw.uniform(radius, SIZE - radius) for axis in (rows, columns))
        u, v = x * np.cos(turn) + y * np.sin(turn), y * np.cos(turn) - x * np.sin(turn)
        far, near, distance = np.maximum(abs(u), abs(v)), np.minimum(abs(u), abs(v)), np.hypot(u, v)
        inside = (
            distance < 0.8 * radius,
            far < 0.7 * radius,
            (distance < radius) & (distance > 0.6 * radius),
            (near < 0.25 * radius) & (far < radius),
        )[kind]
        pictures[place] = inside * draw.uniform(0.4, 1) + draw.normal(0, 0.25, (SIZE, SIZE))
    return as_bytes(pictures, -0.5, 1.5), kinds


def textures(draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Gratings of three wavelengths, and smooth noise of two, under noise."""
    kinds = draw.integers(0, 5, COUNT)
    rows, columns = np.mgrid[:SIZE, :SIZE]
    pictures = draw.normal(0, 0.7, (COUNT, SIZE, SIZE))
    for picture, kind in zip(pictures, kinds, strict=True):
        turn, phase = draw.uniform(0, np.pi), draw.uniform(0, 2 * np.pi)
        if kind < 3:
            picture += np.sin((0.5, 0.8, 1.2)[kind] * (columns * np.cos(turn) + rows * np.sin(turn)) + phase)
        else:
            smooth = gaussian_filter(draw.normal(size=(SIZE, SIZE)), kind - 2)
            picture += smooth / smooth.std()
    return as_bytes(pictures, -3, 3), kinds


def digits(draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Those of scikit-learn, every pixel four, in another order."""
    known = datasets.load_digits()
    order = draw.permutation(len(known.target))
    return (known.images[order].repeat(2, 1).repeat(2, 2) * 15).astype(np.uint8), known.target[order]


def as_bytes(pictures: np.ndarray, low: float, high: float) -> np.ndarray:
    """From 0 to 255 between two values."""
    return ((pictures.clip(low, high) - low) / (high - low) * 255).astype(np.uint8)


SETS = {"shapes": shapes, "textures": textures, "digits": digits}

if __name__ == "__main__":
    main()
