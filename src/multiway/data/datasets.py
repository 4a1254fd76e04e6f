"""Known data sets: where they come from, how they are read and split, and where they lie on this machine."""

import dataclasses
import os
from pathlib import Path

from multiway.data.findings import quoted
from multiway.data.options import ReadOptions
from multiway.data.series.reading import read_panel
from multiway.data.series.splits import SplitOptions
from multiway.data.stocks.catalogue import STOCK_DATASETS, StockDataset
from multiway.data.stocks.fetching import make_tables
from multiway.data.stocks.layouts import looks_like_stocks
from multiway.data.volumes.catalogue import VOLUME_DATASETS, VolumeDataset
from multiway.errors import ConfigError, DataError, closest

ETT_URL = "https://raw.githubusercontent.com/zhouhaoyi/ETDataset/main/ETT-small/{}"
HUB_URL = "https://huggingface.co/datasets/thuml/Time-Series-Library/resolve/main/{}"
AS_IT_IS = ReadOptions(sentinels=(), duplicates="keep", gaps="ignore")
BY_FRACTION = SplitOptions()
ETT_H1_SHA256 = "sha256:f18de3ad269cef59bb07b5438d79bb3042d3be49bdeecf01c1cd6d29695ee066"
ETT_H2_SHA256 = "sha256:a3dc2c597b9218c7ce1cd55eb77b283fd459a1d09d753063f944967dd6b9218b"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Dataset:
    """One public data set of series.

    files: Names under which a local copy is looked for, the first being that of a download.
    url: Official address, or the usual one where the authors keep none.
    sha256: Hash of the official file, pinned only where a copy is known to be that file byte for byte. Where it is
        None, a download is accepted by its numbers of rows and variates.
    rows, variates: Size as published.
    season: Steps in a season, as forecasters count them.
    read: Policies under which published figures are computed: the file as it is.
    split: Borders of the published protocol.
    """

    files: tuple[str, ...]
    url: str
    sha256: str | None
    rows: int
    variates: int
    licence: str
    season: int
    read: ReadOptions = AS_IT_IS
    split: SplitOptions = BY_FRACTION

    @property
    def known_hash(self) -> str | None:
        """Its hash with the name of the method in front; None where none is pinned."""
        return self.sha256

    @property
    def holds(self) -> str:
        """Its size in words."""
        return f"{self.rows:,} rows x {self.variates} variates"


def _ett(name: str, protocol: str, rows: int, season: int, sha256: str | None) -> Dataset:
    return Dataset(
        files=(f"{name}.csv", f"{name}.parquet"), url=ETT_URL.format(f"{name}.csv"), sha256=sha256, rows=rows,
        variates=7, licence="CC BY-ND 4.0", season=season, split=SplitOptions.parse({"protocol": protocol}),
    )  # fmt: skip


DATASETS: dict[str, Dataset] = {
    "ett_h1": _ett("ETTh1", "ett_hourly", 17_420, 24, ETT_H1_SHA256),
    "ett_h2": _ett("ETTh2", "ett_hourly", 17_420, 24, ETT_H2_SHA256),
    "ett_m1": _ett("ETTm1", "ett_quarter_hourly", 69_680, 96, None),
    "ett_m2": _ett("ETTm2", "ett_quarter_hourly", 69_680, 96, None),
    "weather": Dataset(
        files=("weather.csv", "weather.csv.gz"), url=HUB_URL.format("weather/weather.csv"), sha256=None, rows=52_696,
        variates=21, licence="Max Planck Institute for Biogeochemistry", season=144,
    ),
    "exchange": Dataset(
        files=("exchange_rate.csv",), url=HUB_URL.format("exchange_rate/exchange_rate.csv"), sha256=None, rows=7_588,
        variates=8, licence="public", season=1,
    ),
    "ecl": Dataset(
        files=("electricity.csv",), url=HUB_URL.format("electricity/electricity.csv"), sha256=None, rows=26_304,
        variates=321, licence="CC BY 4.0", season=24,
    ),
    "traffic": Dataset(
        files=("traffic.csv",), url=HUB_URL.format("traffic/traffic.csv"), sha256=None, rows=17_544, variates=862,
        licence="public", season=24,
    ),
    "solar": Dataset(
        files=("solar_AL.txt", "solar_AL.csv"), url=HUB_URL.format("Solar/solar_AL.txt"), sha256=None, rows=52_560,
        variates=137, licence="NREL, public", season=144,
    ),
}  # fmt: skip


Known = Dataset | VolumeDataset | StockDataset


def is_dataset(name: str) -> bool:
    """Whether a name is one of the known data sets, of series, volumes or stocks."""
    return name in _every()


def is_volume_dataset(name: str) -> bool:
    """Whether a name is one of the known data sets of volumes."""
    return name in VOLUME_DATASETS


def is_stock_dataset(name: str) -> bool:
    """Whether a name is one of the known data sets of stocks."""
    return name in STOCK_DATASETS


def _every() -> dict[str, Known]:
    return {**DATASETS, **VOLUME_DATASETS, **STOCK_DATASETS}


def dataset(name: str) -> Dataset:
    """The known data set of series of that name.

    Raises:
        ConfigError: There is none.
    """
    if name not in DATASETS:
        raise _of_another_kind(name, "series")
    return DATASETS[name]


def volume_dataset(name: str) -> VolumeDataset:
    """The known data set of volumes of that name.

    Raises:
        ConfigError: There is none.
    """
    if name not in VOLUME_DATASETS:
        raise _of_another_kind(name, "volumes")
    return VOLUME_DATASETS[name]


def stock_dataset(name: str) -> StockDataset:
    """The known data set of stocks of that name.

    Raises:
        ConfigError: There is none.
    """
    if name not in STOCK_DATASETS:
        raise _of_another_kind(name, "stocks")
    return STOCK_DATASETS[name]


def _known(name: str) -> Known:
    known = _every().get(name)
    if known is None:
        raise _unknown(name)
    return known


def _of_another_kind(name: str, wanted: str) -> ConfigError:
    """Say what a set holds instead, and which command is for that."""
    kinds = (("series", "forecast", DATASETS), ("volumes", "volumes", VOLUME_DATASETS),
             ("stocks", "stocks", STOCK_DATASETS))  # fmt: skip
    for holds, task, sets in kinds:
        if name in sets:
            return ConfigError(f"{name} holds {holds} and no {wanted}. Run `multiway train {task} --data {name}`.")
    return _unknown(name)


def _unknown(name: str) -> ConfigError:
    known = list(_every())
    return ConfigError(f"no data set is called {name}{closest(name, known)} Known: {', '.join(known)}.")


def search_folders() -> list[Path]:
    """Folders that are looked through for a local copy, in order."""
    named = os.environ.get("MULTIWAY_DATA")
    checkout = Path(__file__).parents[3]
    beside = [checkout.parent / "shared" / "data"] if (checkout / "pyproject.toml").is_file() else []
    roots = ([Path(named)] if named else []) + beside + [cache_folder()]
    return [folder for root in roots for folder in (root, root / "forecasting", root / "volumes")]


def dataset_path(name: str) -> Path:
    """Where a data set lies: $MULTIWAY_DATA, then `shared/data` beside a checkout, then the download cache.

    Raises:
        ConfigError: No data set has that name.
        DataError: It lies nowhere yet.
    """
    found = _find(name)
    if found is None:
        raise DataError(
            f"the data set {name} is not on this machine. Run `multiway data fetch {name}`, or set MULTIWAY_DATA to "
            f"the folder that holds {_known(name).files[0]}."
        )
    return found


def locate(data: str) -> str:
    """Path of a file or folder, or of the known data set of that name.

    Raises:
        DataError: It is a known data set that lies nowhere yet.
    """
    return str(dataset_path(data)) if is_dataset(data) else data


def brought(name: str) -> dict[str, object]:
    """Settings that a known data set brings to a run: its published split and reading policy, and its season."""
    known = DATASETS.get(name)
    return {} if known is None else {"read": known.read.plain(), "split": known.split.plain(), "season": known.season}


def dataset_options(name: str) -> tuple[ReadOptions, SplitOptions, int]:
    """How published figures read and split a data set, and its season.

    Raises:
        ConfigError: No data set has that name.
    """
    known = dataset(name)
    return known.read, known.split, known.season


def _find(name: str) -> Path | None:
    known = _known(name)
    is_there = looks_like_stocks if isinstance(known, StockDataset) else Path.is_file
    return next((path for folder in search_folders() for file in known.files if is_there(path := folder / file)), None)


def fetch_dataset(name: str) -> Path:
    """Download a data set into the cache unless it is there, verify it, and return its path.

    Stocks come as an archive, of which two tables are kept.

    Raises:
        ConfigError: No data set has that name.
        DataError: The address does not answer, or the file is not the one expected; nothing is kept then.
    """
    known = _known(name)
    if isinstance(known, StockDataset):
        return _fetch_stocks(name, known)
    path = _download(name, known, known.files[0])
    if isinstance(known, Dataset) and known.known_hash is None:
        _check_size(name, known, path)
    return path


def _fetch_stocks(name: str, known: StockDataset) -> Path:
    folder = cache_folder() / known.files[0]
    if looks_like_stocks(folder):
        return folder
    archive = _download(name, known, f"{name}.zip")
    try:
        return make_tables(archive, folder, known)
    finally:
        archive.unlink(missing_ok=True)


def _download(name: str, known: Known, file: str) -> Path:
    import pooch

    pooch.get_logger().setLevel("ERROR")
    try:
        return Path(
            pooch.retrieve(known.url, known_hash=known.known_hash, fname=file, path=cache_folder(), progressbar=False)
        )
    except (OSError, ValueError) as error:
        reason = quoted(" ".join(str(error).split()), 160)
        raise DataError(
            f"{name} could not be fetched from {known.url}: {reason}. Fetch {known.files[0]} by other means and set "
            f"MULTIWAY_DATA to its folder."
        ) from None


def _check_size(name: str, known: Dataset, path: Path) -> None:
    """Stand in for a hash: rows and variates as published; a wrong file does not stay in the cache."""
    try:
        panel = read_panel(path, known.read)
        got = f"{panel.num_rows:,} rows x {panel.num_variates} variates"
    except DataError as error:
        got = str(error)
    wanted = known.holds
    if got != wanted:
        path.unlink(missing_ok=True)
        raise DataError(f"{name}: {known.url} should hold {wanted}. Got {got}. The file was not kept.")


def describe() -> list[dict[str, object]]:
    """One row per data set."""
    return [
        {
            "name": name,
            "holds": known.holds,
            "licence": known.licence,
            "verified by": (known.known_hash or "size").split(":")[0],
            "path": str(_find(name) or "-"),
        }
        for name, known in _every().items()
    ]


def cache_folder() -> Path:
    """Where downloads are kept."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "multiway"
