"""Every setting of the task `tabular`."""

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from multiway.config import Flag, Plain
from multiway.data.options import FileOptions, SplitShares, TargetKind
from multiway.tasks.candidate import baseline_of
from multiway.tasks.options import LAYER, NetworkConfig, Refitting, starting_from
from multiway.tasks.settings import TaskSettings
from multiway.training.config import TrainingConfig

Baseline = Annotated[str, baseline_of("multiway.tasks.tabular.candidates", "tabular")]
TRAINING: Plain = {"loss": "mse", "epochs": 40, "batch_size": 64, "patience": 8}
"""Fields of `TrainingConfig` where rows differ from a forecast."""


class TableOptions(FileOptions):
    """Which columns are inputs, which one is the target, and what to do with missing cells."""

    as_names = ("target", "group")

    target: Annotated[str | None, Flag("Column to predict.")] = None
    columns: Annotated[tuple[str, ...] | None, Flag("Input columns to keep: age,weight.")] = None
    """Input columns to keep; all but identifiers and constants if not given."""
    drop: Annotated[tuple[str, ...], Flag("Columns to leave out: id,name.")] = ()
    categories: tuple[str, ...] = ()
    """Columns of numbers to take as categories."""
    kind: Annotated[TargetKind, Flag("What the target is.")] = "auto"
    """What the target is; `auto` takes words, truth values and a few whole numbers as classes, all else as a number."""
    group: Annotated[str | None, Flag("Column whose rows stay in one split, such as a patient.")] = None
    time: Annotated[str | None, Flag("Column of times: test on the latest rows.")] = None
    """Column of times: train on the earliest rows, test on the latest; it is no input."""
    weights: Annotated[str | None, Flag("Column that says how much each row counts.", is_argument=False)] = None
    """Column of how much each row counts in fitting, in validation and in scores, not below zero; it is no input."""
    missing: Literal["impute", "error"] = "impute"
    """Missing inputs: training median and an indicator for numbers, a level of their own for categories; or refuse."""
    max_levels: int = Field(100, ge=2)
    """Most levels of a category with an input each; of more, each is the mean of the target in it."""

    @model_validator(mode="after")
    def _roles_differ(self) -> Self:
        roles = [name for name in (self.target, self.group, self.time) if name is not None]
        if len(set(roles)) < len(roles):
            raise ValueError(f"target, group and time are three different columns. Got {', '.join(roles)}")
        if self.weights in roles:
            raise ValueError(f"weights is a column of its own, apart from target, group and time. Got {self.weights}")
        if self.group is not None and self.time is not None:
            raise ValueError("rows are split by group or by time. Leave out one of them")
        for option, names in (("columns", self.columns or ()), ("drop", self.drop), ("categories", self.categories)):
            if self.target in names:
                raise ValueError(f"{option} holds input columns, and {self.target} is the target")
        return self


class TabularConfig(Refitting, NetworkConfig):
    """A run of the task `tabular`; stored in its folder."""

    NETWORK, BY_DATA = "tabular_mlp", {"in_features": 1, "num_outputs": 1}

    read: TableOptions = TableOptions()
    split: SplitShares = SplitShares()
    """By time or by group where one is named, else at random; classes in their proportions."""
    increasing: Annotated[tuple[str, ...], Flag("Columns that the answer never falls with: age,dose.")] = ()
    """Columns of numbers with which the number, or the probability of the second of two classes, may only rise."""
    decreasing: Annotated[tuple[str, ...], Flag("Columns that the answer never rises with: price.")] = ()
    """Those with which it may only fall."""
    model: Annotated[Plain, LAYER] = Field(default_factory=dict)
    """Fields of the network without those that the data set."""
    baselines: Annotated[
        tuple[Baseline, ...] | None,
        Flag(
            "Some of majority and logistic for classes, of mean and ridge for numbers, and trees, lightgbm, catboost.",
            commands=(),
        ),
    ] = None
    """Of classes majority and logistic, of numbers mean and ridge, of both trees (scikit-learn), LightGBM and CatBoost;
    all whose library is installed if not given."""
    training: Annotated[TrainingConfig, starting_from(TRAINING)] = TrainingConfig.parse(TRAINING)
    """`loss` is that of numbers; classes have cross-entropy."""

    def signs(self, names: Sequence[str]) -> list[int] | None:
        """Which way the answer may go with each of the inputs: 1, -1, or 0 where it is free; None where all are."""
        signs = [(name in self.increasing) - (name in self.decreasing) for name in names]
        return signs if self.increasing or self.decreasing else None

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        both = {*self.increasing} & {*self.decreasing}
        if both:
            raise ValueError(f"increasing and decreasing are different columns. Got {', '.join(sorted(both))} in both")
        if self.training.loss == "cross_entropy":
            raise ValueError("training.loss is that of numbers: mse, mae or huber; classes have cross-entropy anyway")
        return self


TABULAR = TaskSettings(
    name="tabular",
    purpose="Classes or numbers of the rows of a table.",
    example="--data patients.csv --target ill",
    config=TabularConfig,
    data="source:ROWS",
)
