"""`read_stocks`: from a file, folder or frame of prices, and texts beside it, to a panel and entries, flaws noted."""

import dataclasses
from pathlib import Path

from multiway.data.findings import Findings, Unreadable, quoted
from multiway.data.sources.json_lines import ENDINGS
from multiway.data.sources.tables import column_names, source_name
from multiway.errors import DataError
from multiway.tasks.stocks import folders
from multiway.tasks.stocks.folders import PublishedFolder
from multiway.tasks.stocks.options import NO_TEXTS, StockOptions
from multiway.tasks.stocks.panel import PriceRows, StockPanel, StockTexts, build_panel
from multiway.tasks.stocks.placing import place_texts
from multiway.tasks.stocks.prices import read_prices, together
from multiway.tasks.stocks.tables import file_of_ticker, find_column, is_table, stem
from multiway.tasks.stocks.texts import gather

PRICE_TABLES = ("prices.parquet", "prices.pq", "prices.csv", "prices.csv.gz")
TEXT_NAMES = ("tweets", "texts", "news")
TEXT_ENDINGS = (".parquet", ".pq", ".csv", ".csv.gz", *ENDINGS)
MAX_FILES = 100_000
OTHER_PRICES = ("open", "high", "low", "adj_close", "volume")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Layout:
    """Where prices and texts lie.

    table: One file or frame of all tickers; None where each has a file.
    is_named: Whether the table's file names its ticker, where it has no column of them.
    files: One for each ticker.
    texts: What the data set brings, if anything.
    published: Whose folder it is, if it is a published one.
    """

    table: object = None
    is_named: bool = False
    files: tuple[Path, ...] = ()
    texts: Path | None = None
    published: PublishedFolder | None = None


def read_stocks(
    source: object, options: StockOptions | None = None, *, texts: object = None
) -> tuple[StockPanel, StockTexts | None]:
    """Read prices, and the texts beside them.

    Args:
        source: A table of prices (CSV, CSV.gz, Parquet, or a pandas or polars frame) with tickers in a column; a folder
            with one such table for each ticker; StockNet's folder; or a folder with `prices.parquet` or `prices.csv`,
            and `tweets` or `texts` beside it as Parquet, CSV or JSONL.
        options: How to read; by default every flaw is refused.
        texts: A frame or path of texts, which wins over `options.texts`.

    Returns:
        The panel, and the texts; None in their place where there are none.

    Raises:
        DataError: The data are not sound: one line with the file, the place, the value and the fix.
    """
    findings, of_texts = Findings(source_label(source)), Findings("texts")
    try:
        market = read_stocks_into(source, options or StockOptions(), texts, findings, of_texts)
    except Unreadable:
        raise (findings if findings.errors() else of_texts).error() from None
    for one in (findings, of_texts):
        if one.errors():
            raise one.error()
    return market


def read_stocks_into(
    source: object, options: StockOptions, texts: object, findings: Findings, of_texts: Findings
) -> tuple[StockPanel, StockTexts | None]:
    """The same, with flaws of prices and of texts noted apart; sound only where no finding is an error."""
    layout = layout_of(source)
    panel = _panel_if_sound(layout, options, findings)
    chosen = next((given for given in (texts, options.texts) if given is not None), layout.texts)
    raw = None
    if chosen is not None and not (isinstance(chosen, str) and chosen == NO_TEXTS):
        is_inside = layout.published is not None and chosen is layout.texts
        of_texts.source = findings.source if is_inside else source_label(chosen)
        raw = gather(chosen, options, of_texts)
        of_texts.join_notes()
    if panel is None:
        raise Unreadable
    return panel, None if raw is None else place_texts(raw, panel, options, of_texts)


def source_label(source: object) -> str:
    """What messages call a source."""
    return quoted(Path(source).resolve().name, 80) if isinstance(source, str | Path) else source_name(source)


def layout_of(source: object) -> Layout:
    """Look at a source without reading it.

    Raises:
        DataError: It does not exist, or holds no prices.
    """
    if not isinstance(source, str | Path):
        return Layout(table=source)
    path = Path(source)
    if not path.exists():
        raise DataError(f"{quoted(path, 200)} does not exist. Give a table of prices, or a folder of them.")
    if path.is_file():
        return Layout(table=path, is_named=True)
    table = next((path / name for name in PRICE_TABLES if (path / name).is_file()), None)
    if table is not None:
        return Layout(table=table, texts=_texts_beside(path))
    for known in folders.published_folder():
        if known.recognises(path):
            return Layout(files=known.prices(path), texts=known.texts(path), published=known)
    return Layout(files=_tables_in(path))


def looks_like_stocks(source: object) -> bool:
    """Whether it is a folder of prices, or a table or frame with tickers, days, closing prices and another price."""
    if not isinstance(source, str | Path):
        return _are_prices([str(name) for name in getattr(source, "columns", ())], ("ticker", "date", "close"))
    path = Path(source)
    if path.is_file():
        return is_table(path) and _are_prices(column_names(path), ("ticker", "date", "close"))
    if not path.is_dir():
        return False
    is_known = any(known.recognises(path) for known in folders.published_folder())
    if is_known or any((path / name).is_file() for name in PRICE_TABLES):
        return True
    first = next((file for file in sorted(path.iterdir()) if file.is_file() and is_table(file)), None)
    return first is not None and _are_prices(column_names(first), ("date", "close"))


def _are_prices(names: list[str], kinds: tuple[str, ...]) -> bool:
    others = (find_column(names, field) is not None for field in OTHER_PRICES)
    return all(find_column(names, kind) is not None for kind in kinds) and any(others)


def _texts_beside(folder: Path) -> Path | None:
    paths = (folder / f"{name}{ending}" for name in TEXT_NAMES for ending in TEXT_ENDINGS)
    return next((path for path in paths if path.is_file()), None)


def _tables_in(folder: Path) -> tuple[Path, ...]:
    files = tuple(sorted(file for file in folder.iterdir() if file.is_file() and is_table(file)))
    if not files:
        raise DataError(
            f"{quoted(folder, 200)}: there are no prices in it. Give prices.csv or prices.parquet, one table for each "
            f"ticker, or StockNet's folder."
        )
    if len(files) > MAX_FILES:
        raise DataError(f"{quoted(folder, 200)}: at most {MAX_FILES:,} files are read. Got {len(files):,}.")
    return files


def _panel_if_sound(layout: Layout, options: StockOptions, findings: Findings) -> StockPanel | None:
    """The panel, or nothing where what is wrong with it is noted, so that texts are looked at too."""
    try:
        rows = _rows(layout, options, findings)
        if findings.errors():
            return None
        panel = build_panel(rows, options, findings)
    except Unreadable:
        return None
    return dataclasses.replace(panel, source=findings.source, notes=findings.remarks())


def _rows(layout: Layout, options: StockOptions, findings: Findings) -> PriceRows:
    """Rows of all files, each named by its ticker."""
    if layout.table is not None:
        ticker = stem(layout.table) if isinstance(layout.table, Path) and layout.is_named else None
        return read_prices(layout.table, ticker, options, findings)
    parts = []
    for path in layout.files:
        with file_of_ticker(path, findings) as inner:
            rows = read_prices(path, stem(path), options, inner)
            parts.append(_with_movements(rows, layout.published, path, inner))
    findings.join_notes()
    if findings.errors():
        raise Unreadable
    return together(parts, findings)


def _with_movements(rows: PriceRows, published: PublishedFolder | None, path: Path, findings: Findings) -> PriceRows:
    """Movements that stand beside the prices in a published folder win over those of the file."""
    known = {} if published is None else published.movements(path, findings)
    days = rows.frame["day"].dt.strftime("%Y-%m-%d")
    return dataclasses.replace(rows, frame=rows.frame.assign(movement=days.map(known))) if known else rows
