"""What a report on movements of stocks says, as plain values: the task fills it, `render_stock_report` sets it.

Every part but the title may be absent: its section is then left out. Model names are free text and tie the
parts together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from multiway.explain.voxels import DeletionCurves
from multiway.report.classification_content import ClassScore, ReliabilityBin
from multiway.report.content import Floats, RunReport

Days = npt.NDArray[np.datetime64]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SplitMovements:
    """One split: its days, the movements asked about, how many of them rose, and how many had a text to read."""

    name: str
    first: str
    last: str
    days: int
    movements: int
    rises: int | None = None
    with_text: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MovementGrid:
    """Test movements of the chosen model by ticker and month.

    counts: Movements asked about, `(tickers, months)`.
    right: Those whose direction was named, `(tickers, months)`.
    rises: Those that rose, `(tickers, months)`.
    """

    tickers: Sequence[str]
    months: Sequence[str]
    counts: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    rises: npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TextView:
    """One text and its part in an answer."""

    ticker: str
    day: str
    text: str
    share: float


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class AnswerView:
    """One ticker on one day, and what moved the answer.

    group: Under which heading: "Most confident errors".
    actual: "rise" or "fall"; None where it is not asked.
    movement: What the price did, as a share.
    prices, texts: Contributions of all prices and of all texts.
    strongest: Texts that moved it most.
    moved_by: Stocks whose days moved it most, with their contributions.
    looks_at: Stocks that its attention falls on most, with their shares.
    """

    ticker: str
    date: str
    group: str
    p_up: float
    actual: str | None = None
    movement: float | None = None
    prices: float = 0.0
    texts: float = 0.0
    strongest: Sequence[TextView] = ()
    moved_by: Sequence[tuple[str, float]] = ()
    looks_at: Sequence[tuple[str, float]] = ()


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class BacktestView:
    """A backtest: returns so far by portfolio, `(days,)` each, the band of random rankings, and the table.

    rows: One mapping per portfolio, with the columns of `tasks.stocks.backtest`.
    sentence: What came of it.
    assumptions: What the figures suppose, one sentence each.
    words: What must be said of it.
    """

    days: Days
    lines: Mapping[str, Floats]
    band: tuple[Floats, Floats]
    rows: Sequence[Mapping[str, object]]
    sentence: str
    assumptions: Sequence[str] = ()
    words: str = ""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class StockReport(RunReport):
    """Everything in the report of movements of stocks.

    chosen: The model that this run is about.
    majority: Name of the baseline that always names one direction.
    calendar: Name of the baseline that looks at the calendar alone.
    scores: One row per model, metric, split and seed.
    coverage: What there is in each month or year, in words.
    splits: Train, validation and test.
    grid: By ticker and month, on the test days.
    reliability: Of the chosen model on the test days.
    answers: In the order they are shown.
    answer_note: Why they are absent.
    unit: What contributions are measured in.
    deletion: Mean over answers; `deletion_answers` says of how many, `deletion_note` how sure the difference is.
    backtest: On the test days.
    selected_by: What chose the epoch, in words.
    """

    chosen: str = "multiway"
    majority: str = "majority"
    calendar: str = "calendar"
    scores: Sequence[ClassScore] = ()
    coverage: Mapping[str, str] = field(default_factory=dict)
    splits: Sequence[SplitMovements] = ()
    grid: MovementGrid | None = None
    reliability: Sequence[ReliabilityBin] = ()
    answers: Sequence[AnswerView] = ()
    answer_note: str = ""
    unit: str = "log odds of a rise"
    deletion: DeletionCurves | None = None
    deletion_answers: int = 0
    deletion_note: str = ""
    backtest: BacktestView | None = None
    selected_by: str = ""
