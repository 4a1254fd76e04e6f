"""A target that is a class or a number: its loss, its metrics, and what models say of samples as tables and scores."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multiway.data.findings import list_some
from multiway.data.samples import Array
from multiway.data.targets import join_labels, read_labels
from multiway.metrics import classes as metrics
from multiway.metrics import confidence, labels, regression, resampling
from multiway.metrics.resampling import ScoreFunction
from multiway.tasks.protocol import NETWORK, Metric, Row

CLASSES = (
    Metric(name="acc", title="Accuracy", spread=True),
    Metric(name="auc", title="AUC", spread=True),
    Metric(name="balanced_accuracy", title="Balanced accuracy"),
    Metric(name="ece", title="Calibration error", higher=False),
)
MORE = {
    "f1": Metric(name="f1", title="F1 (macro)", spread=True),
    "weighted_f1": Metric(name="weighted_f1", title="F1 (weighted)", spread=True),
    "top5": Metric(name="top5", title="Accuracy of five", spread=True),
    "hard_auc": Metric(name="hard_auc", title="AUC of hard answers", spread=True),
}
"""Metrics of classes that some tasks have in addition to the usual ones."""
OF_RARE = (
    Metric(name="ap", title="Average precision", spread=True),
    Metric(name="rare_f1", title="F1 of the rare class"),
)
"""Metrics of the rarer of two classes, before the others where it is rare."""
OF_LABELS = (
    Metric(name="map", title="Mean average precision", spread=True),
    Metric(name="micro_f1", title="F1 (micro)", spread=True),
)
"""Metrics of several labels, beside those of classes that they have too."""
RARE = 0.1
"""Share of the training samples below which a class is."""
NUMBERS: dict[str, ScoreFunction] = {
    "mse": regression.mse,
    "rmse": regression.rmse,
    "mae": regression.mae,
    "r2": regression.r2,
}
OF_NUMBERS = (
    Metric(name="mse", title="MSE", higher=False, spread=True),
    Metric(name="rmse", title="RMSE", higher=False),
    Metric(name="mae", title="MAE", higher=False, spread=True),
    Metric(name="r2", title="R²"),
)
LABELS: dict[str, ScoreFunction] = {
    "auc": labels.auc,
    "acc": labels.exact,
    "map": labels.mean_precision,
    "micro_f1": labels.micro_f1,
    "f1": labels.macro_f1,
}
"""Of several labels a sample; the accuracy counts a sample as right if all its labels are."""
ERRORS, RIGHT = "Most confident errors", "Named correctly, most confident of each class"
FARTHEST, NEAREST = "Largest errors", "Nearest predictions"
METRICS = (*CLASSES, *OF_NUMBERS)
"""Of classes, then of numbers; a run has those of its target."""

LEVEL = 90.0
"""Of sets of classes, in percent."""
Outputs = Mapping[str, NDArray[np.float64]]
"""By model: class probabilities `(samples, classes)`, or numbers `(samples,)`."""
Names = Sequence[str] | None
"""Of the classes; None where the target is a number."""


def has_several(state: Any) -> bool:
    """Whether samples have several labels each, by what training learnt."""
    return getattr(state, "several", False)


def decode_outputs(raw: Tensor, state: Any) -> NDArray[np.float64]:
    """Probabilities of classes by their logits, or of each of several labels; scaled numbers in their units.

    One logit stands for two classes.
    """
    if state.target is not None:
        return np.asarray(state.target.inverse(raw.numpy())[:, 0])
    if has_several(state):
        return np.asarray(raw.sigmoid().numpy())
    return np.asarray(whole_logits(raw).softmax(1).numpy())


def whole_logits(raw: Tensor) -> Tensor:
    """One of every class, where one stands for two classes."""
    return torch.cat([torch.zeros_like(raw), raw], dim=1) if raw.shape[1] == 1 else raw


class WholeLogits(nn.Module):
    """A baseline as a network is called: float32 logits of every class, or a scaled number."""

    def __init__(self, model: nn.Module, classes: Names) -> None:
        super().__init__()
        self.model, self.is_class = model, classes is not None

    def forward(self, x: Tensor) -> Tensor:
        """What the baseline says."""
        raw: Tensor = self.model(x)
        return (whole_logits(raw) if self.is_class else raw).float()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Predictions:
    """What the models say of samples.

    samples: Columns that name each sample: {"row": ...}.
    names: Of the classes; None where the target is a number.
    truth: Positions of classes, or numbers; of several labels 0 or 1 for each.
    outputs: By model.
    weights: How much each sample counts; alike where there are none.
    groups: Group of each sample, such as a patient, where they are known.
    metrics: Of classes.
    thresholds: Of the second of two classes, by model, where validation chose one.
    rare: Position of a rare class; then the thresholds decide which class is predicted.
    """

    samples: Mapping[str, Sequence[object]]
    names: Names
    truth: Array
    outputs: Outputs
    weights: Array | None = None
    groups: Sequence[str] | None = None
    metrics: Sequence[Metric] = CLASSES
    thresholds: Mapping[str, float | None] = dataclasses.field(default_factory=dict)
    rare: int | None = None

    def scores(self, split: str, draws: int) -> list[Row]:
        """A row per model and metric: value, and its 95 % interval over samples, or over groups."""
        units = None if self.groups is None else np.array(self.groups, dtype=str)
        rows: list[Row] = []
        for model, output in self.outputs.items():
            several = self.truth.ndim == 2
            functions = metrics_of(self.names, self.metrics, self.thresholds.get(model), self.rare, several=several)
            how = {"units": units, "weights": self.weights, "draws": draws}
            rows += resampling.model_rows(functions, self.truth, {model: output}, split, **how)
        return rows

    def frame(self, split: str) -> pd.DataFrame:
        """Sample, model, split, label or number, and the answer."""
        if self.names is not None:
            thresholds = None if self.rare is None else self.thresholds
            return class_frame(self.samples, self.truth, self.outputs, split, self.names, thresholds)
        head = {**self.samples, "split": split, "label": self.truth}
        frames = [pd.DataFrame({**head, "model": name, "predicted": own}) for name, own in self.outputs.items()]
        return pd.concat(frames, ignore_index=True)


def metrics_of(
    names: Names,
    chosen: Sequence[Metric] = CLASSES,
    threshold: float | None = None,
    rare: int | None = None,
    *,
    several: bool = False,
) -> dict[str, ScoreFunction]:
    """Functions of the chosen metrics of classes, those that weigh errors at a threshold, or errors of numbers."""
    if names is None:
        return NUMBERS
    if several:
        return {metric.name: LABELS[metric.name] for metric in chosen if metric.name in LABELS}
    known = {
        **class_metrics(threshold),
        "f1": metrics.macro_f1,
        "weighted_f1": metrics.weighted_f1,
        "top5": metrics.top_accuracy,
        "hard_auc": metrics.hard_auc,
    }
    if rare is not None:
        at = metrics.MIDDLE if threshold is None else threshold
        known["ap"] = partial(metrics.average_precision, position=rare)
        known["rare_f1"] = partial(metrics.f1, threshold=at, position=rare)
    return {metric.name: known[metric.name] for metric in chosen if metric.name in known}


def answer_frame(
    predicted: NDArray[np.float64], names: Names, threshold: float | None = None, *, several: bool = False
) -> pd.DataFrame:
    """Class and probability of each, or the number; of two classes the second is predicted above the threshold.

    Of several labels those are predicted that are more likely than not.
    """
    if names is None:
        return pd.DataFrame({"predicted": predicted})
    named = name_outputs(predicted, names, threshold, several=several)
    return pd.concat([pd.DataFrame({"predicted": named}), probability_frame(predicted, names)], axis=1)


def name_outputs(
    shares: NDArray[np.float64], names: Sequence[str], threshold: float | None = None, *, several: bool = False
) -> Array:
    """What probabilities name: a class each, or several labels in one cell."""
    if several:
        return np.array(join_labels(shares > metrics.MIDDLE, names), dtype=object)
    return class_values(names)[classes_at(shares, threshold)]


def answers_of(tables: Mapping[str, pd.DataFrame], model: str = NETWORK, split: str = "test") -> pd.DataFrame:
    """Rows of the table `predictions` that say what a model answers to the samples of a split."""
    table = tables["predictions"]
    return table[(table["split"] == split) & (table["model"] == model)]


def truth_and_shares(
    answers: pd.DataFrame, names: Sequence[str], *, several: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Positions of the true classes of such rows, or which of several labels are true; the probability of each."""
    shares, cells = answers[[f"p_{name}" for name in names]].to_numpy(np.float64), answers["label"].astype(str)
    if several:
        return read_labels(cells.tolist(), tuple(names), "predictions", "rows")[0], shares
    return pd.Index(names).get_indexer(pd.Index(cells)).astype(np.int64), shares


def numbers_of(answers: pd.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """True and predicted numbers of such rows."""
    return answers["label"].to_numpy(np.float64), answers["predicted"].to_numpy(np.float64)


def limits_of(
    tables: Mapping[str, pd.DataFrame], model: str, names: Sequence[str], level: float = LEVEL
) -> NDArray[np.float64]:
    """By what a model says of validation: see `confidence.set_limits`; `level` is in percent."""
    known = truth_and_shares(answers_of(tables, model, "validation"), names)
    return confidence.set_limits(*known, level / 100)


def few_note(limits: NDArray[np.float64], names: Sequence[str], level: float = LEVEL) -> tuple[str, ...]:
    """Which classes have too few cases of validation for sets of that level, where any has."""
    few = [name for name, limit in zip(names, limits, strict=True) if np.isinf(limit)]
    rule = f"sets need {confidence.least_cases(level / 100)} cases of validation of a class"
    return (f"{rule}. Fewer have {list_some(few)}, which every set holds",) if few else ()


def telling(
    answers: pd.DataFrame, names: Names, unit: str, wrongs: int, rights: int, *, several: bool = False
) -> list[tuple[str, str]]:
    """The most confident errors, then the surest right answers, one of a class: a heading, and the sample's name.

    Of numbers, and of several labels, the largest errors, then the smallest.
    """
    if names is None or several:
        off = errors_of(answers, names).argsort(kind="stable")
        last, first = off[::-1][:wrongs], off[: max(0, min(rights, len(off) - wrongs))]
        return [
            (heading, str(name))
            for heading, rows in ((FARTHEST, last), (NEAREST, first))
            for name in answers[unit].iloc[rows]
        ]
    labels, shares = truth_and_shares(answers, names)
    is_right = labels == metrics.predicted_classes(shares)
    ranked = answers.assign(label=labels, is_right=is_right, sure=shares.max(1)).sort_values(
        "sure", ascending=False, kind="stable"
    )
    is_right = ranked["is_right"]
    best = ranked[is_right].drop_duplicates("label")[:rights].sort_values("label")
    chosen = [(ERRORS, str(name)) for name in ranked[~is_right][unit][:wrongs]]
    return chosen + [(RIGHT, str(name)) for name in best[unit]]


def errors_of(answers: pd.DataFrame, names: Names) -> NDArray[np.float64]:
    """How far numbers are off, or in the mean the probabilities of several labels."""
    if names is None:
        return (answers["predicted"] - answers["label"]).abs().to_numpy(np.float64)
    truth, shares = truth_and_shares(answers, names, several=True)
    return np.asarray(np.abs(truth - shares).mean(1))


def sentence_on(
    sample: str, label: str | None, predicted: str, share: float | None, sums: tuple[float, float] | None
) -> str:
    """What a sample is, what it was named, and how near its gradients come to the change of the logit.

    Without a share what was predicted is a number.
    """
    answer = f"predicted {predicted}" if share is None else f"named {predicted} with {share:.0%}"
    words = f"{sample}: {'' if label is None else f'is {label}, '}{answer}"
    if sums is None:
        return words
    changed = "number" if share is None else "logit"
    return f"{words}; the gradients sum to {sums[0]:+.3f}, the {changed} changes by {sums[1]:+.3f}"


def find_thresholds(outputs: Outputs, find: Callable[[NDArray[np.float64]], float | None]) -> dict[str, Tensor]:
    """Threshold of the second of two classes by model, where there is one; `find` gives it for probabilities."""
    found = {model: find(shares) for model, shares in outputs.items()}
    return {model: torch.tensor(value, dtype=torch.float64) for model, value in found.items() if value is not None}


def rare_class(labels: Array, names: Names) -> int | None:
    """Position of the rarer of two classes, where less than a tenth of the samples have it."""
    if names is None or len(names) != 2:
        return None
    counts = np.bincount(labels, minlength=2)
    return int(counts.argmin()) if 0 < counts.min() < RARE * counts.sum() else None


def threshold_note(names: Sequence[str], rare: int, threshold: float) -> str:
    """From which probability on a rare class is predicted, and why."""
    share = threshold if rare == 1 else 1 - threshold
    return f"'{names[rare]}' is rare: it is predicted from p = {share:.3g} on, which has its best F1 on validation."


def classes_at(shares: NDArray[np.float64], threshold: float | None) -> NDArray[np.int64]:
    """Predicted classes, of two by a threshold if there is one."""
    return metrics.predicted_classes(shares, metrics.MIDDLE if threshold is None else threshold)


def thresholds_of(calibration: Mapping[str, Tensor], models: Sequence[str]) -> dict[str, float | None]:
    """Threshold of every model of a run, chosen on validation; None for more than two metrics."""
    return {model: float(calibration[model]) if model in calibration else None for model in models}


def find_temperatures(predictions: Predictions) -> dict[str, Tensor]:
    """Temperature by which the probabilities of each model come nearer to what happens, where there is one."""
    units = None if predictions.groups is None else np.array(predictions.groups, dtype=str)
    found = {
        _temperature_of(model): confidence.find_temperature(predictions.truth, shares, units)
        for model, shares in predictions.outputs.items()
    }
    return {name: torch.tensor(value, dtype=torch.float64) for name, value in found.items() if value != 1}


def recalibrate(calibration: Mapping[str, Tensor], outputs: Outputs) -> dict[str, NDArray[np.float64]]:
    """Outputs by model, probabilities at the temperature of their model where validation chose one."""
    known = {model: calibration.get(_temperature_of(model)) for model in outputs}
    return {
        model: values if (found := known[model]) is None else confidence.temper(values, float(found))
        for model, values in outputs.items()
    }


def _temperature_of(model: str) -> str:
    """Its name among what validation decided."""
    return f"{model}.temperature"


def class_metrics(threshold: float | None = None) -> dict[str, ScoreFunction]:
    """Every metric; AUC and ACC are MedMNIST's, and the three that weigh errors use the threshold if there is one."""
    at = metrics.MIDDLE if threshold is None else threshold
    return {
        "auc": metrics.auc,
        "acc": metrics.accuracy,
        "balanced_accuracy": partial(metrics.balanced_accuracy, threshold=at),
        "sensitivity": partial(metrics.sensitivity, threshold=at),
        "specificity": partial(metrics.specificity, threshold=at),
        "ece": metrics.calibration_error,
    }


def class_frame(
    cases: Mapping[str, Sequence[object]],
    truth: Array,
    outputs: Outputs,
    split: str,
    names: Sequence[str],
    thresholds: Mapping[str, float | None] | None = None,
) -> pd.DataFrame:
    """Columns that name each case, then model, split, label, predicted class and the probability of each class.

    `truth` has positions of classes, or 0 or 1 for each of several labels.
    """
    frames, several = [], truth.ndim == 2
    known = join_labels(truth, names) if several else class_values(names)[truth]
    for model, shares in outputs.items():
        answers = name_outputs(shares, names, (thresholds or {}).get(model), several=several)
        head = pd.DataFrame({**cases, "model": model, "split": split, "label": known, "predicted": answers})
        frames.append(pd.concat([head, probability_frame(shares, names)], axis=1))
    return pd.concat(frames, ignore_index=True)


def class_values(names: Sequence[str]) -> Array:
    """Names of classes as a column of a table holds them: False and True as truth values."""
    if sorted(names) == ["False", "True"]:
        return np.array([name == "True" for name in names])
    return np.array(names, dtype=object)


def probability_frame(shares: NDArray[np.float64], names: Sequence[str]) -> pd.DataFrame:
    """One column `p_CLASS` per class."""
    return pd.DataFrame(shares, columns=[f"p_{name}" for name in names])
