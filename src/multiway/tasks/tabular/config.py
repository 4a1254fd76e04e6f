"""Every setting of the task `tabular`."""

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
    missing: Literal["impute", "error"] = "impute"
    """Missing inputs: training median and an indicator for numbers, a level of their own for categories; or refuse."""
    max_levels: int = Field(100, ge=2)
    """Most levels of a category with an input each; of more, each is the mean of the target in it."""

    @model_validator(mode="after")
    def _roles_differ(self) -> Self:
        roles = [name for name in (self.target, self.group, self.time) if name is not None]
        if len(set(roles)) < len(roles):
            raise ValueError(f"target, group and time are three different columns. Got {', '.join(roles)}")
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

    @model_validator(mode="after")
    def _loss_fits(self) -> Self:
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
