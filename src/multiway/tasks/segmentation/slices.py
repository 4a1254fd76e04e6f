"""A few test cases kept as slices, so that a report can show them when the data are gone."""

import dataclasses
from collections.abc import Mapping

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway import files
from multiway.config import Plain
from multiway.data.samples import Array, Samples
from multiway.tasks.segmentation.encode import Examples
from multiway.tasks.segmentation.scores import Floats, Predictor
from multiway.training import RunFolder

SLICES, NAMES = "slices.safetensors", "slices.json"
SHOWN = 9


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Shown:
    """One case: grey image, target and prediction of one slice, `(rows, columns)`, and its mean Dice."""

    case: str
    dice: float
    image: NDArray[np.uint8]
    target: NDArray[np.int16]
    predicted: NDArray[np.int16]


def save_slices(
    folder: RunFolder, cases: pd.DataFrame, model: str, predict: Predictor, test: Samples[Examples]
) -> None:
    """Keep the worst, middle and best test cases of a model by mean Dice."""
    rows = cases[(cases["split"] == "test") & (cases["model"] == model) & cases["scored"]]
    dice = rows.groupby("case", sort=False)["dice"].mean().dropna().sort_values(kind="stable")
    tensors, names = {}, []
    for number, position in enumerate(_spread(len(dice))):
        case = str(dice.index[position])
        example = test.inputs.read(test.names["case"].index(case))
        predicted = predict(example.values).astype(np.int16)
        shown = _slice(example.values, example.target, predicted)
        for part, values in zip(("image", "target", "predicted"), shown, strict=True):
            tensors[f"{number}.{part}"] = torch.from_numpy(np.ascontiguousarray(values))
        names.append({"case": case, "dice": round(float(dice.iloc[position]), 6)})
    files.write_tensors(folder.path / SLICES, tensors)
    folder.write_json(NAMES, names)


def _spread(count: int) -> list[int]:
    """Positions of three thirds of what is shown: first, middle and last."""
    third = SHOWN // 3
    middle = max(count // 2 - third // 2, 0)
    positions = [*range(third), *range(middle, middle + third), *range(count - third, count)]
    return sorted({position for position in positions if 0 <= position < count})


def _slice(
    values: Array, target: NDArray[np.int16], predicted: NDArray[np.int16]
) -> tuple[NDArray[np.uint8], NDArray[np.int16], NDArray[np.int16]]:
    """Across the first axis of a volume, where target and prediction mark most; the mean over channels in grey."""
    grey: Floats = values.astype(np.float64).mean(0)
    if grey.ndim == 3:
        marked = ((target > 0) | (predicted > 0)).sum((1, 2))
        strongest = int(marked.argmax())
        grey, target, predicted = grey[strongest], target[strongest], predicted[strongest]
    low, high = np.percentile(grey, [1, 99])
    level = np.clip((grey - low) / max(high - low, 1e-12), 0, 1)
    return np.rint(255 * level).astype(np.uint8), target, predicted


def load_slices(folder: RunFolder) -> list[Shown]:
    """Read what `save_slices` kept."""
    tensors = folder.load_tensors(SLICES)
    return [_shown(tensors, number, name) for number, name in enumerate(folder.read_json(NAMES))]


def _shown(tensors: Mapping[str, Tensor], number: int, name: Plain) -> Shown:
    parts = {part: tensors[f"{number}.{part}"].numpy() for part in ("image", "target", "predicted")}
    if {values.shape for values in parts.values()} != {parts["image"].shape} or parts["image"].ndim != 2:
        raise ValueError("slices of one case differ in size")
    return Shown(case=str(name["case"]), dice=float(name["dice"]), **parts)
