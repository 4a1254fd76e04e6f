"""Every setting of the task `stocks`."""

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import Field, field_validator, model_validator

from multiway.config import Config, Flag, Plain
from multiway.data.options import Budget, EncoderOptions, Shares, ValidationShare
from multiway.lazy import load_extensions
from multiway.tasks.candidate import baseline_of
from multiway.tasks.options import NetworkConfig, Sizes, read_every, starting_from
from multiway.tasks.settings import TaskSettings
from multiway.training.config import TrainingConfig

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NO_TEXTS = "none"
OF_ZONES = {
    "America/New_York": "XNYS", "America/Sao_Paulo": "BVMF", "America/Toronto": "XTSE", "Asia/Hong_Kong": "XHKG",
    "Asia/Kolkata": "XBOM", "Asia/Seoul": "XKRX", "Asia/Shanghai": "XSHG", "Asia/Tokyo": "XTKS",
    "Australia/Sydney": "XASX", "Europe/Berlin": "XETR", "Europe/London": "XLON", "Europe/Paris": "XPAR",
    "Europe/Zurich": "XSWX",
}  # fmt: skip
"""The best known exchange of each zone."""
TextScale = Literal["one", "each"]
Baseline = Annotated[str, baseline_of("multiway_papers.stocks.candidates", "stocks")]
USUAL = ("majority", "previous", "logistic", "calendar", "tfidf", "tfidf_ticker")
DateFeature = Literal["day", "month", "year", "weekday"]
TRAINING: Plain = {
    "loss": "cross_entropy",
    "optimizer": "adamw",
    "epochs": 12,
    "batch_size": 16,
    "validation_batch_size": 64,
    "learning_rate": 1e-3,
    "weight_decay": 0.05,
    "schedule": "cosine",
    "warmup_steps": 30,
    "patience": 0,
    "average": 0.98,
    "clip_norm": 1.0,
}
"""Fields of `TrainingConfig` where movements differ from a forecast; a sample is one day of all stocks."""


class StockOptions(Budget):
    """How a table or folder of prices is read, and its texts."""

    paths = ("texts",)

    texts: Annotated[
        str | None,
        Flag(
            "Texts of each ticker, or ready vectors: a file or folder. 'none': none.",
            commands=("train", "check", "audit", "predict"),
        ),
    ] = None
    """File or folder of texts, or of ready vectors (columns e0, e1, ..., or one list column `embedding`); what the data
    set brings if not given; `none` for prices only."""
    ticker: str = "ticker"
    """Column of tickers, which are text whatever they look like; the usual other names are found."""
    date: str = "date"
    """Column of trading days; the usual other names are found."""
    text: str = "text"
    """Column of texts; the usual other names are found."""
    stamp: str | None = None
    """Column that says when a text was written; the usual names are found."""
    time_zone: Annotated[str | None, Flag("Zone of time stamps that state none: UTC, Europe/London.")] = None
    """Zone of times of texts that name none, such as UTC; without it they are refused. Plain days need none."""
    exchange_zone: Annotated[str, Flag("Zone of the exchange.")] = "America/New_York"
    """Zone of the exchange, in which its days begin and end."""
    close: Annotated[str, Flag("When the exchange closes, 16:00; later texts count as the next day's.")] = "16:00"
    """When the exchange closes; a text written then or later counts as of the next day."""
    exchange: str | None = None
    """Calendar of the exchange by its code, such as XNYS, for the next session; that of the zone if not given. Without
    the package exchange-calendars holidays are not known."""
    sentinels: tuple[float, ...] | None = None
    """Numbers that mean missing; unless given, those that stand apart from all others of a column are refused."""
    jumps: Literal["error", "warn", "ignore"] = "error"
    """An adjusted close that jumps like a split (2:1, 3:1, 1:10, ...), or on its own."""
    start: str | None = None
    """First day kept, such as 2014-01-01."""
    end: str | None = None
    """Last day kept."""

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        for name in ("time_zone", "exchange_zone"):
            zone = getattr(self, name)
            if zone is not None and not is_zone(zone):
                raise ValueError(f"{name} is a name such as UTC or America/New_York. Got {zone!r}")
        if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", self.close):
            raise ValueError(f"close is a time such as 16:00. Got {self.close!r}")
        for name in ("start", "end"):
            day = getattr(self, name)
            if day is not None and not _is_day(day):
                raise ValueError(f"{name} is a day such as 2014-01-31. Got {day!r}")
        if self.start is not None and self.end is not None and self.start > self.end:
            raise ValueError(f"start must not lie after end. Got {self.start} and {self.end}")
        return self

    @property
    def calendar(self) -> str | None:
        """Code of the calendar; None where none is known of the zone."""
        return self.exchange or OF_ZONES.get(self.exchange_zone)


def is_zone(name: str) -> bool:
    """Whether a name is one of the zones that this machine knows."""
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # absent, a folder, no plain name; ZoneInfoNotFoundError is a KeyError
        return False
    return True


def _is_day(text: str) -> bool:
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


CHRONOLOGICAL = "chronological"
FIXED = ("down", "up", "borders")
"""Fields that a published protocol settles."""


PUBLISHED: dict[str, Any] = {}
"""By name; rooms above add theirs."""


def published_protocol() -> dict[str, Any]:
    """Published protocols by name."""
    load_extensions("stock protocols")
    return PUBLISHED


def protocol_names() -> tuple[str, ...]:
    """Every protocol that is known."""
    return (CHRONOLOGICAL, *published_protocol())


def parse_days(texts: Sequence[str]) -> "NDArray[np.datetime64]":
    """Days of their texts."""
    import numpy as np  # help and completion do without

    for text in texts:
        try:
            np.datetime64(text, "D")
        except ValueError:
            raise ValueError(f"borders are days like 2015-08-01. Got {text!r}") from None
    return np.array(texts, dtype="datetime64[D]")


class StockProtocol(Config):
    """What is predicted of each ticker and day, from what, and in which split."""

    name: Annotated[
        str,
        Flag(
            "How samples are labelled and split: chronological, or as published: stocknet, published-code.",
            name="protocol",
        ),
    ] = CHRONOLOGICAL
    """`chronological`: any data, in the order of time. `stocknet`: as the authors of StockNet define it, for its dates.
    `published-code`: the labels that the stock paper's public code makes, which the calendar gives away."""
    complete: bool = False
    """Ask only where every slot of the window has a text and a known price, as StockNet's authors do."""
    look_back: int = Field(5, ge=1, le=60)
    """Slots of a window: trading days, the target day included; calendar days for `stocknet`."""
    prices: Literal["changes", "levels"] = "changes"
    """Adjusted close, high and low of a day: their changes against the adjusted close before, or they themselves."""
    down: float = Field(0.0, ge=0, lt=1)
    """A movement m with -down <= m < up has no label; a share, so 0.005 is half a per cent."""
    up: float = Field(0.0, ge=0, lt=1)
    """See `down`."""
    borders: tuple[str, str] | None = None
    """First day of validation and first day of test, in place of the shares."""
    literal: bool = False
    """For `published-code`: a ratio of exactly 1 counts as a rise, as there, though neither day traded."""

    @field_validator("name")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name == CHRONOLOGICAL:
            return name

        if name not in protocol_names():
            *first, last = map(repr, protocol_names())
            raise ValueError(f"Input should be {', '.join(first)} or {last}")
        return name

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if self.borders is not None:
            first, second = parse_days(self.borders)
            if not first < second:
                raise ValueError(f"borders must rise: first day of validation, then of test. Got {self.borders}")
        if self.rules is not None:
            changed = [field for field in FIXED if self._is_changed(field)]
            if changed:
                raise ValueError(f"{' and '.join(changed)} cannot be set, the protocol {self.name} fixes them")
        if self.literal and not (self.rules and self.rules.literal):
            owners = ", ".join(name for name, rules in published_protocol().items() if rules.literal)
            raise ValueError(f"literal belongs to the protocol {owners}. Got {self.name}")
        refused = (self.rules.refused if self.rules else {}).items()
        for field, reason in refused:
            if self._is_changed(field):
                raise ValueError(reason)
        return self

    def _is_changed(self, field: str) -> bool:
        return bool(getattr(self, field) != type(self).model_fields[field].default)

    @property
    def rules(self) -> Any:
        """What a published protocol fixes; None for any data in the order of time."""
        if self.name == CHRONOLOGICAL:
            return None

        return published_protocol()[self.name]

    @property
    def of_movements(self) -> bool:
        """Whether its labels are those of true movements, which can be predicted ahead and traded."""
        return self.rules is None or self.rules.of_movements

    @property
    def dead_zone(self) -> tuple[float, float]:
        """Movements from the first number to the second, the second excluded, have no label."""
        down, up = self.rules.dead_zone if self.rules else (self.down, self.up)
        return -down, up


class StockEncoder(EncoderOptions):
    """Which encoder, and how it is run."""

    encoder: Annotated[
        str, Flag("Turns texts into vectors: auto, minilm, finbert, hashed, a folder.", commands=("train", "audit"))
    ] = "auto"


class DaySplit(Shares):
    """Shares of the target days, the last ones for the test."""

    validation: ValidationShare = 0.1
    """Share to choose the best epoch on."""


class StockConfig(NetworkConfig):
    """A run of the task `stocks`; stored in its folder.

    Prices are a file, a folder, or the name of a known data set. The modality of the network is multimodal where there
    are texts, and price where there are none.
    """

    NETWORK = "hot_stock_classifier"
    NETWORKS = ("*stock_classifier*",)
    BY_DATA: ClassVar[Mapping[str, Sizes]] = {
        "num_stocks": 2,
        "num_slots": 5,
        "price_features": 3,
        "text_features": 8,
        "date_features": 3,
        "num_outputs": 2,
    }

    read: StockOptions = StockOptions()
    split: DaySplit = DaySplit()
    text: StockEncoder = StockEncoder()
    protocol: StockProtocol = StockProtocol()
    model: Annotated[
        Plain,
        Flag(
            'Name of a classifier of stocks, see `multiway.list_models("*stock_classifier*")`.',
            key="name",
            name="model",
            usual="hot_stock_classifier",
            commands=(),
        ),
        Flag(
            "What the network sees.",
            key="modality",
            commands=("train", "audit"),
            choices=("multimodal", "price", "text"),
        ),
    ] = Field(default_factory=dict)
    """Fields of the network without those that the data set; `name` is one of its named sizes."""
    dates: tuple[DateFeature, ...] = ("day", "month", "year")
    """What of each day's date the network reads; the paper has day of the month, month and year."""
    text_scale: TextScale = "one"
    """Vectors of texts are divided by one spread, so that rare words weigh little, or each feature by its own."""
    target: Literal["movement", "quantiles"] = "movement"
    """Rise or fall of a day, or the levels that its movement stays below with the given probabilities."""
    quantiles: tuple[float, ...] = (0.1, 0.5, 0.9)
    """For the target `quantiles`: the probabilities, ascending."""
    baselines: Annotated[
        tuple[Baseline, ...],
        Flag("Some of majority, random, previous, arima, logistic, calendar, tfidf and tfidf_ticker.", commands=()),
    ] = USUAL
    """Baselines that are fitted and scored under the same protocol; quantiles have those of the training days.
    tfidf, of the words written since the last session, and tfidf_ticker, one for each ticker, are there where texts
    are read. Also random, a fair coin, and arima, of each stock's prices alone, which needs statsforecast."""
    training: Annotated[TrainingConfig, starting_from(TRAINING)] = TrainingConfig.parse(TRAINING)
    select: Literal["macro_f1", "f1", "mcc", "acc", "loss"] = "loss"
    """Which score on validation chooses the epoch; ties go to the lower loss. Quantiles: always the loss."""
    batch_days: int = Field(0, ge=0)
    """Also score ACC, F1 and MCC as means over batches of so many days, as training loops log them; 0 does not."""
    draws: int = Field(1000, ge=0)
    """Bootstrap samples of days behind each interval; 0 gives none."""
    block_days: int = Field(5, ge=1)
    """Consecutive target days that the bootstrap draws together."""

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if self.training.loss != "cross_entropy" or self.training.validation_loss not in (None, "cross_entropy"):
            raise ValueError(
                "the target decides the loss: cross-entropy of movements, pinball of quantiles. Leave training.loss out"
            )
        if self.protocol.rules is not None and self.split != DaySplit():
            raise ValueError(f"split cannot be set, the protocol {self.protocol.name} fixes it")
        self._target_fits()
        return self

    def _target_fits(self) -> None:
        if self.target == "movement":
            return
        levels = self.quantiles
        if not levels or list(levels) != sorted(set(levels)) or not all(0 < level < 1 for level in levels):
            raise ValueError(f"quantiles must ascend between 0 and 1. Got {levels}")
        if 0.5 not in levels:
            raise ValueError(f"quantiles need the median, 0.5, as the forecast. Got {levels}")
        if self.batch_days:
            raise ValueError("batch_days is of rises and falls. Leave it out with the target quantiles")
        if not self.protocol.of_movements or self.protocol.complete:
            raise ValueError("quantiles are of true movements, all of them. Leave published-code and complete out")

    @property
    def modality(self) -> str | None:
        """What the network reads, both where it multiplies them; None leaves it to the data."""
        return self.model.get("modality", "multimodal" if self.model.get("fusion") == "product" else None)

    @property
    def levels(self) -> tuple[float, ...]:
        """Probabilities of the levels that are predicted; none where directions are."""
        return self.quantiles if self.target == "quantiles" else ()

    def network_fields(self, **set_by_data: Sizes | None) -> Plain:
        """Fields of `create_model` on this data; without texts the network reads prices."""
        known = {name: size for name, size in set_by_data.items() if size is not None}
        modality = self.model.get("modality", "multimodal") if "text_features" in known else "price"
        own = {"date_features": len(self.dates), "num_outputs": len(self.levels) or 2}
        return {**super().network_fields(**{**known, **own}), "modality": modality}


class Explain(Config):
    """Options of `multiway explain`."""

    date: Annotated[
        str | None, Flag("Day to explain, 2015-11-03; if not given, the last tested, or those of confident errors.")
    ] = None
    tickers: Annotated[tuple[str, ...] | None, Flag("Stocks to explain, separated by commas; a few if not given.")] = (
        None
    )


class Backtest(Config):
    """Options of `multiway backtest`."""

    top: Annotated[
        float | None,
        Flag("Share of the tickers to buy, and to sell short: 0.2; above and below one half if not given."),
    ] = None
    cost_bps: Annotated[float | None, Flag("Cost of a trade in hundredths of a percent; 10 if not given.")] = None
    entry: Annotated[
        Literal["close", "open"] | None,
        Flag("Buy at the close before each day, or at its open and sell at its close; close if not given."),
    ] = None
    neutral: Annotated[
        str | None,
        Flag("Buy as much as is sold short each day: market, or a table of tickers and sectors, then in each sector."),
    ] = None
    refit: Annotated[
        int | None,
        Flag("every=N trains anew before every N-th test day, on the days before it.", read=read_every),
    ] = None


STOCKS = TaskSettings(
    name="stocks",
    purpose="Rise or fall of stocks on the next day, from prices and texts.",
    example="--data prices.csv --texts texts.jsonl",
    config=StockConfig,
    data="checking:MARKET",
    uses={"explain": Explain, "backtest": Backtest},
)
