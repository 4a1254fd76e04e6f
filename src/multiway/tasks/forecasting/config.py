"""Every setting of the task `forecast`."""

import math
import time
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, PlainSerializer, PrivateAttr, field_validator, model_validator

from multiway.config import Config, Flag, Plain, merge
from multiway.data.options import Names, ReadOptions
from multiway.lazy import extensions, load_extension
from multiway.tasks.candidate import names_of
from multiway.tasks.options import (
    Answering,
    Refit,
    check_model,
    check_percentages,
    network_fields,
    percentages,
    read_every,
    read_seconds,
    read_shares,
    starting_from,
)
from multiway.tasks.settings import PastMoments, Predict, TaskSettings
from multiway.training.config import TrainingConfig

Role = Literal["future", "past", "static"]
ROLES: tuple[Role, ...] = ("future", "past", "static")
PROTOCOLS = ("auto", "ett_hourly", "ett_quarter_hourly", "fraction", "dates")
LONGEST_PATCH = 16
OURS, FOR_TARGETS = "hot_forecaster", "transformer_forecaster"
"""Networks where none is named: of all series, and of some from the others."""
PARTNER = "olinear_small"
"""The second network where none is named."""
Peer = Literal[
    "rlinear", "dlinear", "patchtst", "patchtst_paper", "patchtst_small", "itransformer", "olinear", "olinear_small"
]
"""Forecasters of the literature, which forecast every series that they see."""
PARTIAL = ("recurrent_forecaster*", "transformer_forecaster*")
"""Networks that can forecast some series from the others."""
NETWORKS = ("*hot_forecaster*", *PARTIAL, *get_args(Peer))
Baseline = Literal[Peer, "mean", "ridge_inputs"]
MOST_TOGETHER, GROUP = 1_000, 100
"""Series up to which a network sees all together where nothing else is said, and those of a group of more."""
FEWEST_WINDOWS = 2_000
"""Training windows from which a network is trained where nothing else is said."""
TRAINING: Plain = {"average": 0.99}
"""Fields of `TrainingConfig` that are others for forecasts."""
TRAINED: Plain = {"loss": "mse", "epochs": 10, "average": None}
"""Fields of `TrainingConfig` where a trained baseline differs from the network: as in print, until it stops early."""


class Held:
    """A frame in a config, which is equal to itself alone."""

    def __init__(self, frame: object) -> None:
        self.frame = frame


def hold(given: object) -> object:
    """A path as text, or a frame that is held."""
    return (
        str(given)
        if isinstance(given, Path)
        else given
        if given is None or isinstance(given, str | Held)
        else Held(given)
    )


Outside = Annotated[
    Any,
    BeforeValidator(hold),
    PlainSerializer(lambda held: held if isinstance(held, str) else None, when_used="json"),
]
"""A path, or a frame that is held and not stored."""


def find_published_split(protocol: str) -> Any:
    """The published protocol of that name, a `splitting.PublishedSplit`; None where it is one of ours, or none."""
    return load_extension("splits", protocol) if protocol in extensions("splits") else None


class Roles(Config):
    """Columns of a table that explain the values of others, by when they are known."""

    future: Names = ()
    past: Names = ()
    static: Names = ()
    issued: str | None = None
    """That which says when a row was issued."""
    words: tuple[str, ...] | None = None
    """Those that are words, whatever a later table holds; seen if not given."""
    holidays: Names = ()
    """Countries whose public holidays are known ahead."""
    calendar: bool = False
    """Whether hours, weekdays and the time of the year are tried."""

    @property
    def is_empty(self) -> bool:
        """Whether there is no covariate at all."""
        return not (self.columns or self.holidays or self.calendar)

    @property
    def columns(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.future, *self.past, *self.static)

    def of(self, column: str) -> Role:
        """When a column is known."""
        return next(role for role in ROLES if column in getattr(self, role))


class SplitOptions(Config):
    """How rows are split."""

    protocol: Annotated[
        str, Flag("How rows are split: auto, fraction, dates, ett_hourly, ett_quarter_hourly, or leaky_random_windows.")
    ] = "fraction"
    """One of `PROTOCOLS`, or a published one of the papers."""
    train: float = Field(default=0.7, gt=0, lt=1)
    """Share of rows to train on, rounded down."""
    test: float = Field(default=0.2, gt=0, lt=1)
    """Share of rows to test on, rounded down; validation is the rest."""
    validation_start: str | None = None
    """First validation time, for the protocol `dates`."""
    test_start: str | None = None
    """First test time, for the protocol `dates`."""
    seed: int = Field(default=0, ge=0)
    """Of a published protocol that draws."""

    @field_validator("protocol")
    @classmethod
    def _protocol_is_known(cls, protocol: str) -> str:
        if protocol not in PROTOCOLS and find_published_split(protocol) is None:
            *others, last = map(repr, (*PROTOCOLS, *extensions("splits")))
            raise ValueError(f"Input should be {', '.join(others)} or {last}")
        return protocol


class OutputOptions(Config):
    """What forecasts may be; "auto" is by series, as all its training values are."""

    nonnegative: bool | Literal["auto"] = "auto"
    """Hold forecasts and bands at zero or above; "auto" does where no training value is below zero."""
    whole: bool | Literal["auto"] = "auto"
    """Round what is written to whole numbers, lower edges of bands down and upper ones up; "auto" does where all
    training values are whole, but leaves the forecast itself of a series that is zero half of the time."""


class ForecastConfig(Answering):
    """A run of the task `forecast`; stored in its folder."""

    data: str | None = None
    """Path of a file, or the name of a known data set; None for a frame in memory."""
    updates: tuple[str, ...] = ()
    """Files of rows that came after those of `data`: they are in no split, and what forecasts the future is fitted on
    them too."""
    read: ReadOptions = ReadOptions()
    split: SplitOptions = SplitOptions()
    horizon: Annotated[
        int,
        Flag("Steps to forecast; a season or two where the rows are too few for the default.", usual=None),
        Field(ge=1),
    ] = 96
    lookback: Annotated[
        int,
        Flag("Past steps that the models see; fewer where the rows are too few for the default.", usual=None),
        Field(ge=1),
    ] = 96
    """Past steps that every model sees."""
    horizons: tuple[Annotated[int, Field(ge=1)], ...] = ()
    """First steps of the forecast that are scored apart, of which all steps are the last; training then weighs their
    mean errors alike, as one model for several horizons needs."""
    season: Annotated[
        int | None, Flag("Steps in a season; from the frequency if not given.", commands=()), Field(ge=1)
    ] = None
    """Steps in a season, for the seasonal naive forecast; from the frequency if not given."""
    targets: Annotated[Names, Flag("Series to forecast from the others; every series if not given.")] = ()
    """Series to forecast from the others, which are then seen alone; without any, every series is forecast."""
    future: Annotated[Names, Flag("Columns that are known ahead: price,holiday.")] = ()
    """Columns that are known ahead, such as prices and holidays: `predict` is given their next rows."""
    past: Annotated[Names, Flag("Columns that are known up to the last value alone.")] = ()
    """Columns that are known up to the last value alone, such as visitors."""
    static: Annotated[Names, Flag("Columns of a long table that say what a series is.")] = ()
    """Columns of a long table that say what a series is, such as its region: one value for each series."""
    issued: Annotated[
        str | None,
        Flag("Column that says when a row's covariates were issued: a time may then have a row for each issue."),
    ] = None
    """Column that says when the covariates of a row were issued, as weather forecasts are: a time, and series, may then
    have a row for each issue. From every moment only the last one is seen that had been issued by then."""
    static_data: Annotated[
        str | None,
        Flag(
            "File with a row for each series: the columns that name it, and others that say what it is.",
            is_argument=False,
        ),
    ] = None
    """Path of a table with a row for each series: the columns that name it, and others, which are static."""
    holidays: Annotated[
        Names,
        Flag(
            "Countries whose public holidays are known ahead: US, or DE-BY for a part of one.",
            commands=("train", "audit"),
        ),
    ] = ()
    """Countries whose public holidays are known ahead, by their codes: US, or DE-BY for a part of one."""
    breaks: Literal["join", "keep"] = "join"
    """Where a series changes its level or unit for good, what forecasts the future sees rows before it joined to those
    after it; "keep" leaves them. So do covariates that vary, and others' forecasts, which are of the rows as they
    are."""
    candidates: Annotated[
        Outside | None,
        Flag(
            "File of forecasts that someone else made: series, cutoff, time, and a column for each model.",
            commands=("train",),
        ),
    ] = None
    """Path of forecasts that someone else made at past cutoffs, or a frame, which no stored config has. A column for
    each model, which is weighed with ours on the windows at its cutoffs."""
    calendar: bool | Literal["auto"] = "auto"
    """Try hours, weekdays and the time of the year as covariates, which stay where validation gains; "auto" does so
    where there are others."""
    network: Annotated[
        bool | Literal["auto"],
        Flag(
            'Train a Higher-Order Transformer and a small OLinear; "auto" does from 2,000 training windows on.',
            commands=(),
        ),
    ] = "auto"
    """Train a network. "auto" trains one where there are at least 2,000 training windows, or where `model`, `partner`,
    `members` or `answer` say which: on fewer it has not paid."""
    partner: Literal["auto", "none"] | Peer = "auto"
    """A network of another kind that is trained side by side with the first and forecasts with it, by their mean;
    "auto" is a small OLinear where the first is not named and forecasts every series, and none elsewhere."""
    group: Annotated[int, Field(ge=1)] | Literal["auto"] = "auto"
    """Series that the network sees together; each group is a sample of its own. "auto" is all of up to 1,000 series,
    and groups of 100 of more."""
    members: int = Field(1, ge=1)
    """Networks of each kind, trained side by side; the forecast is the mean of all."""
    budget: Annotated[
        float | None,
        Flag(
            "Time that the whole training may take: 60s, 10m or 1h; as long as it takes if not given.",
            commands=("train",),
            read=read_seconds,
        ),
        BeforeValidator(read_seconds),
    ] = None
    """Seconds that the whole training may take, also as "60s", "10m" or "1h". Closed forms come first; the network has
    the epochs that fit, which the run then keeps in place of the budget. Clocks differ from run to run."""
    metric: Annotated[
        Literal["mse", "mae", "mase", "pinball"],
        Flag("What decides which candidates answer: mse, mae, mase or pinball.", commands=("train",)),
    ] = "mse"
    """What decides: squared errors; absolute ones; these over those of the seasonal naive forecast; or the pinball loss
    of the tenths of each candidate's errors."""
    refit: Annotated[
        Refit,
        Flag(
            "Refit on all rows before those that are forecast: closed, which is all but networks; all; or none.",
            commands=("train",),
        ),
    ] = "closed"
    """Refit candidates before they forecast: on every row before the test rows for these, on all rows for what follows,
    in the form, with the weights and within the bands that validation chose. "all" trains a network that has a share of
    the answer once more for each, for the epochs that were best; "closed" leaves it as it is. "none" leaves all as they
    were fitted on the training rows, as published protocols do."""
    model: Annotated[
        Plain,
        Flag(
            'Name of the one network, see `multiway.list_models("*_forecaster*")`; by the targets if not given.',
            key="name",
            name="model",
            commands=(),
        ),
    ] = Field(default_factory=dict)
    """`name` of a forecaster and its fields, without the variates, which the data set, and the steps, set above."""
    training: Annotated[TrainingConfig, starting_from(TRAINING)] = TrainingConfig.parse(TRAINING)
    baselines: tuple[Baseline, ...] = ()
    """Trained and scored with ridge and the naive forecasts: forecasters of the literature; the mean of the training
    targets; ridge from all that the networks see."""
    baseline_training: Annotated[Plain, starting_from(TRAINED)] = Field(TRAINED)
    """Fields of `training` that are others for the baselines."""
    levels: Annotated[tuple[float, ...], Flag("Interval levels in percent.", commands=())] = (80.0, 95.0)
    """Interval levels in percent."""
    output: OutputOptions = OutputOptions()
    """Whether forecasts are below zero, and whole numbers."""
    _stop: float = PrivateAttr(default=math.inf)

    @field_validator("answer")
    @classmethod
    def _answer_is_known(cls, answer: str) -> str:
        if answer in ("auto", "network"):
            return answer
        known = names_of("multiway.tasks.forecasting.candidates", "forecast")
        names = dict.fromkeys(("auto", "network", *known))
        if answer not in names:
            *others, last = map(repr, names)
            raise ValueError(f"Input should be {', '.join(others)} or {last}")
        return answer

    @field_validator("levels")
    @classmethod
    def _levels_are_percentages(cls, levels: tuple[float, ...]) -> tuple[float, ...]:
        check_percentages(levels)
        return tuple(sorted(set(levels)))

    @model_validator(mode="after")
    def _horizons_end_with_all_steps(self) -> Self:
        rising = list(self.horizons) == sorted(set(self.horizons))
        if self.horizons and not (rising and self.horizons[-1] == self.horizon):
            given = ", ".join(map(str, self.horizons))
            raise ValueError(f"horizons rise, and the last is the horizon of {self.horizon}. Got {given}")
        return self

    @model_validator(mode="after")
    def _losses_are_of_numbers(self) -> Self:
        for training in (self.training, self.peer_training):
            if "cross_entropy" in (training.loss, training.validation_loss):
                raise ValueError("a forecast is trained with mse, mae or huber; cross_entropy is for classes")
        return self

    @model_validator(mode="after")
    def _model_can_be_built(self) -> Self:
        check_model(self.model, OURS, NETWORKS, ("num_variates", "num_targets"))
        given = [name for name in ("lookback", "horizon", "known", "seen") if name in self.model]
        if given:
            own = {"known": "future", "seen": "past"}.get(given[0], given[0])
            raise ValueError(f"model.{given[0]} is set by the {own} of the run. Set {own} instead")
        if self.members > 1 and not self.network:
            raise ValueError(f"members counts networks, and none is trained. Set network to true. Got {self.members}")
        if self.network and (self.model or self.partner not in ("auto", "none")):
            from multiway.models import model_config  # the usual networks are some, and need no torch to say so

            for name, fields in self.kinds(num_variates=len(self.targets) + 1):
                model_config(name, **fields)
        if self.answer == "network" and not self.network:
            raise ValueError("answer: no network is trained. Set network to true, or answer to auto")
        if self.partner not in ("auto", "none") and not self.network:
            raise ValueError(f"partner: no network is trained. Set network to true. Got {self.partner}")
        return self

    @model_validator(mode="after")
    def _groups_can_be_forecast(self) -> Self:
        if self.group == "auto" or not self.network:
            return self
        if self.targets:
            raise ValueError("group: targets are forecast from all other series. Leave one of the two out")
        others = [name for name in (self.model_name, self.partner_name) if name and not name.startswith(OURS)]
        if others:
            raise ValueError(f"group: {others[0]} learns of each series by its place. Leave group or {others[0]} out")
        return self

    @model_validator(mode="after")
    def _targets_can_be_forecast(self) -> Self:
        if self.targets and self.network and not self._is_partial:
            raise ValueError(
                f"targets: {self.model_name} forecasts every series that it sees. Set model.name to "
                "recurrent_forecaster or transformer_forecaster, or network to false"
            )
        if self.targets and self.partner_name:
            raise ValueError(f"targets: {self.partner_name} forecasts every series that it sees. Set partner to none")
        own = [name for name in self.baselines if name in get_args(Peer)]
        if self.targets and own:
            raise ValueError(f"targets: the baseline {own[0]} forecasts every series that it sees. Leave it out")
        return self

    @model_validator(mode="after")
    def _issues_can_be_told(self) -> Self:
        if self.issued is None:
            return self
        changing = (*self.future, *self.past)
        if not changing:
            raise ValueError("issued says when covariates were known. Name them with future or past")
        if self.issued in (*changing, *self.static):
            raise ValueError(f"issued is a column of its own. Got {self.issued}, which is a covariate too")
        if self.read.resample is not None or self.read.duplicates in ("keep", "mean"):
            given = f"read.resample={self.read.resample}, read.duplicates={self.read.duplicates}"
            raise ValueError(
                f"issued: rows of one time are its issues, which are not resampled, kept as steps or averaged. "
                f"Leave read.resample out, and set read.duplicates to first, last or error. Got {given}"
            )
        return self

    @property
    def roles(self) -> Roles:
        """Columns that are covariates."""
        is_tried = bool(self.future or self.past or self.static or self.static_data or self.holidays)
        return Roles(
            future=self.future, past=self.past, static=self.static, issued=self.issued, holidays=self.holidays,
            calendar=is_tried if self.calendar == "auto" else self.calendar,
        )  # fmt: skip

    @property
    def joins_breaks(self) -> bool:
        """Whether rows before a break are joined to those after it."""
        is_plain = (
            not (self.future or self.past or self.candidates) and find_published_split(self.split.protocol) is None
        )
        return self.breaks == "join" and is_plain

    def group_of(self, series: int) -> int | None:
        """Series of a group of so many; None where a network sees all together."""
        if self.group != "auto":
            return self.group
        return GROUP if series > MOST_TOGETHER and not self.targets else None

    def stop_at(self, moment: float) -> Self:
        """Let the network stop before a moment of the monotonic clock, which no stored config has."""
        self._stop = moment
        return self

    def is_late(self, seconds: float) -> bool:
        """Whether so many seconds more would be past that moment."""
        return time.monotonic() + seconds > self._stop

    def trains_network(self, windows: int) -> bool:
        """Whether a network is trained on so many windows."""
        if self.network != "auto":
            return self.network
        named = bool(self.model) or self.partner not in ("auto", "none") or self.members > 1
        return self.answer == "network" or (self.answer == "auto" and (named or windows >= FEWEST_WINDOWS))

    @property
    def retrains(self) -> bool:
        """Whether a network is trained once more."""
        return self.refit == "all" and self.network is True

    @property
    def num_targets(self) -> int | None:
        """How many series are forecast; None for all."""
        return len(self.targets) or None

    @property
    def _is_partial(self) -> bool:
        """Whether the network can forecast some series from the others."""
        return any(fnmatch(self.model_name, pattern) for pattern in PARTIAL)

    @property
    def peer_training(self) -> TrainingConfig:
        """How the baselines are trained."""
        return TrainingConfig.parse(merge(self.training.plain(), self.baseline_training), "baseline_training")

    @property
    def model_name(self) -> str:
        """Name of the network."""
        return str(self.model.get("name", FOR_TARGETS if self.targets else OURS))

    @property
    def partner_name(self) -> str | None:
        """Name of the second network, if there is one."""
        if self.partner != "auto":
            return None if self.partner == "none" else self.partner
        is_alone = "name" in self.model or self.targets or self.group != "auto"
        return PARTNER if self.network and not is_alone else None

    def kinds(self, num_variates: int, **features: int) -> list[tuple[str, Plain]]:
        """Names and fields of `create_model` on this data: of the first network, and of its partner.

        `features` has how many those of covariates are, `known` and `seen`, for a network that takes them.
        """
        series = num_variates if self.group == "auto" else self.group
        sizes = {"num_variates": series, "lookback": self.lookback, "horizon": self.horizon}
        partner = [] if self.partner_name is None else [(self.partner_name, sizes)]
        own = features if "hot_forecaster" in self.model_name else {}
        return [(self.model_name, {**self._first_fields(sizes), **own}), *partner]

    def _first_fields(self, sizes: Plain) -> Plain:
        """Fields of the first network; patches adapt to the look-back unless they are given."""
        from multiway.models import model_defaults

        if self._is_partial:
            return network_fields(self.model, **sizes, num_targets=self.num_targets)
        fields = network_fields(self.model, **sizes)
        if "hot_forecaster" not in self.model_name or "patch_length" in model_defaults(self.model_name):
            return fields
        alike = {} if self.group == "auto" else {"variate_embedding": False, "floor_shared": True}
        return {"patch_length": _longest_patch(self.lookback), **alike, **fields}


def _longest_patch(lookback: int) -> int:
    return max(length for length in range(1, LONGEST_PATCH + 1) if lookback % length == 0)


class ForecastPredict(Predict):
    """Options of `multiway predict`."""

    future_df: Annotated[
        str | None, Flag("File with the next rows of the columns that are known ahead.", name="future_data")
    ] = None
    layout: Annotated[
        Literal["long", "wide"] | None,
        Flag("Rows per series and time, or a column per series; long if not given."),
    ] = None
    levels: Annotated[
        tuple[float, ...] | None,
        Flag("Interval levels in percent, any: 50,90; those of the training if not given.", read=percentages),
    ] = None
    quantiles: Annotated[
        tuple[float, ...] | None,
        Flag("Quantiles to forecast, any: 0.1,0.5,0.9; no bands then, unless levels are given too.", read=read_shares),
    ] = None
    paths: Annotated[
        int | None, Flag("Draw so many sample paths, from which any total follows: a row a series, step and path.")
    ] = None
    total: Annotated[bool, Flag("Forecast the sum over the steps, with bands: a row a series.")] = False
    hierarchy: Annotated[
        tuple[str, ...] | None,
        Flag(
            "Columns that name the series, the coarsest first: region/store forecasts the sums of each level too.",
            read=lambda text: tuple(text.split("/")),
        ),
    ] = None


class Backtest(PastMoments):
    """Options of `multiway backtest`."""

    refit: Annotated[
        int | None,
        Flag("every=N refits all but networks before every N-th cutoff, on the rows before it.", read=read_every),
    ] = None
    levels: Annotated[
        tuple[float, ...] | None,
        Flag("Intervals to write in percent, any: 50,90; none if not given.", read=percentages),
    ] = None


class Anomalies(Config):
    """Options of `multiway anomalies`."""

    band: Annotated[
        float | None, Flag("Level in percent of the band that a value lies outside of; 99 if not given.")
    ] = None


FORECAST = TaskSettings(
    name="forecast",
    purpose="The next steps of a panel of series.",
    example="--data sales.csv --horizon 14",
    config=ForecastConfig,
    data="check:PANELS",
    uses={"predict": ForecastPredict, "backtest": Backtest, "anomalies": Anomalies},
)
