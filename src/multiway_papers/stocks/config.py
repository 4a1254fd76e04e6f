"""Everything that determines a run that predicts the movements of stocks, and the facts that it keeps."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from multiway.config import Config, Plain
from multiway.data.encoders import EncoderOptions
from multiway.data.splitting import Shares
from multiway.tasks.options import NetworkConfig, Sizes, starting_from
from multiway.tasks.stored import SplitFacts
from multiway.training import TrainingConfig
from multiway_papers.stocks.options import StockOptions
from multiway_papers.stocks.protocols import StockProtocol
from multiway_papers.stocks.state import TextScale

Baseline = Literal["majority", "random", "previous", "arima", "logistic", "calendar", "tfidf", "tfidf_ticker"]
USUAL: tuple[Baseline, ...] = ("majority", "previous", "logistic", "calendar", "tfidf", "tfidf_ticker")
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


class DaySplit(Shares):
    """Shares of the target days, the last ones for the test."""

    validation: float = Field(0.1, gt=0, lt=1)
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
    text: EncoderOptions = EncoderOptions()
    protocol: StockProtocol = StockProtocol()
    dates: tuple[DateFeature, ...] = ("day", "month", "year")
    """What of each day's date the network reads; the paper has day of the month, month and year."""
    text_scale: TextScale = "one"
    """Vectors of texts are divided by one spread, so that rare words weigh little, or each feature by its own."""
    target: Literal["movement", "quantiles"] = "movement"
    """Rise or fall of a day, or the levels that its movement stays below with the given probabilities."""
    quantiles: tuple[float, ...] = (0.1, 0.5, 0.9)
    """For the target `quantiles`: the probabilities, ascending."""
    baselines: tuple[Baseline, ...] = USUAL
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


class SplitCounts(Config):
    """Target days of a split, and the movements on them."""

    days: int
    first: str
    last: str
    count: int
    rises: int
    tickers: int
    with_text: int


class StockFacts(SplitFacts[SplitCounts]):
    """What a stored run says of prices and texts."""

    tickers: int
    days: tuple[str, str]
    texts: int
    texts_dropped: dict[str, int]
    encoder: str | None
