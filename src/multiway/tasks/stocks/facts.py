"""Schema of what a stored run says of its days and texts."""

from multiway.config import Config
from multiway.tasks.stored import Facts


class SplitFacts(Config):
    """Target days of a split, and the movements on them."""

    days: int
    first: str
    last: str
    count: int
    rises: int
    tickers: int
    with_text: int


class StockFacts(Facts):
    """Of prices and texts."""

    tickers: int
    days: tuple[str, str]
    texts: int
    texts_dropped: dict[str, int]
    encoder: str | None
    splits: dict[str, SplitFacts]
