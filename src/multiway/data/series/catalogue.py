"""The public sets of series: ETT, weather, exchange rates, electricity, traffic and solar power."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multiway.data import datasets
from multiway.data.options import ReadOptions
from multiway.data.series.reading import read_panel
from multiway.data.series.splits import SplitOptions
from multiway.errors import DataError

ETT_URL = "https://raw.githubusercontent.com/zhouhaoyi/ETDataset/main/ETT-small/{}"
HUB_URL = "https://huggingface.co/datasets/thuml/Time-Series-Library/resolve/main/{}"
AS_IT_IS = ReadOptions(sentinels=(), duplicates="keep", gaps="ignore")
BY_FRACTION = SplitOptions()
ETT_H1_SHA256 = "sha256:f18de3ad269cef59bb07b5438d79bb3042d3be49bdeecf01c1cd6d29695ee066"
ETT_H2_SHA256 = "sha256:a3dc2c597b9218c7ce1cd55eb77b283fd459a1d09d753063f944967dd6b9218b"
WEATHER_SHA256 = "sha256:34ee981d07313e51da2a50bb600072c8ae4a69cb4b0651f4cb93a069d7a2ba63"
EXCHANGE_SHA256 = "sha256:48b4d9d3d508f5104162e85b9a6042e3557fde11aa9f2944eba8c0d0efc89842"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class SeriesDataset:
    """One public set.

    known_hash: Of the official file, pinned only where a copy is known to be that file byte for byte. Where it is
        None, a download is accepted by its numbers of rows and variates.
    rows, variates: Size as published.
    season: Steps in a season, as forecasters count them.
    read: Policies under which published figures are computed: the file as it is.
    split: Borders of the published protocol.
    """

    files: tuple[str, ...]
    url: str
    known_hash: str | None = None
    rows: int
    variates: int
    licence: str
    season: int
    read: ReadOptions = AS_IT_IS
    split: SplitOptions = BY_FRACTION
    kind: str = "series"
    task: str = "forecast"

    @property
    def holds(self) -> str:
        """Its size in words."""
        return f"{self.rows:,} rows x {self.variates} variates"

    @property
    def settings(self) -> dict[str, Any]:
        """Its published split and reading policy, and its season."""
        return {"read": self.read.plain(), "split": self.split.plain(), "season": self.season}

    def find(self, folders: Sequence[Path]) -> Path | None:
        """The first copy that lies in one of the folders."""
        return datasets.first_in(folders, self.files)

    def fetch(self, name: str, folder: Path) -> Path:
        """Download the file, unless it is there.

        Raises:
            DataError: The address does not answer, or the file is not the one expected; nothing is kept then.
        """
        path = datasets.download(name, self, folder / self.files[0])
        if self.known_hash is None:
            self._check_size(name, path)
        return path

    def _check_size(self, name: str, path: Path) -> None:
        """Stand in for a hash: rows and variates as published; a wrong file does not stay in the cache."""
        try:
            panel = read_panel(path, self.read)
            got = f"{panel.num_rows:,} rows x {panel.num_variates} variates"
        except DataError as error:
            got = str(error)
        if got != self.holds:
            path.unlink(missing_ok=True)
            raise DataError(f"{name}: {self.url} should hold {self.holds}. Got {got}. The file was not kept.")


def _ett(name: str, protocol: str, rows: int, season: int, known_hash: str | None = None) -> SeriesDataset:
    return SeriesDataset(
        files=(f"{name}.csv", f"{name}.parquet"), url=ETT_URL.format(f"{name}.csv"), known_hash=known_hash, rows=rows,
        variates=7, licence="CC BY-ND 4.0", season=season, split=SplitOptions.parse({"protocol": protocol}),
    )  # fmt: skip


DATASETS: dict[str, datasets.Dataset] = {
    "ett_h1": _ett("ETTh1", "ett_hourly", 17_420, 24, ETT_H1_SHA256),
    "ett_h2": _ett("ETTh2", "ett_hourly", 17_420, 24, ETT_H2_SHA256),
    "ett_m1": _ett("ETTm1", "ett_quarter_hourly", 69_680, 96),
    "ett_m2": _ett("ETTm2", "ett_quarter_hourly", 69_680, 96),
    "weather": SeriesDataset(
        files=("weather.csv", "weather.csv.gz"), url=HUB_URL.format("weather/weather.csv"), rows=52_696, variates=21,
        licence="Max Planck Institute for Biogeochemistry", season=144, known_hash=WEATHER_SHA256,
    ),
    "exchange": SeriesDataset(
        files=("exchange_rate.csv",), url=HUB_URL.format("exchange_rate/exchange_rate.csv"), rows=7_588, variates=8,
        licence="public", season=1, known_hash=EXCHANGE_SHA256,
    ),
    "ecl": SeriesDataset(
        files=("electricity.csv",), url=HUB_URL.format("electricity/electricity.csv"), rows=26_304, variates=321,
        licence="CC BY 4.0", season=24,
    ),
    "traffic": SeriesDataset(
        files=("traffic.csv",), url=HUB_URL.format("traffic/traffic.csv"), rows=17_544, variates=862,
        licence="public", season=24,
    ),
    "solar": SeriesDataset(
        files=("solar_AL.txt", "solar_AL.csv"), url=HUB_URL.format("Solar/solar_AL.txt"), rows=52_560, variates=137,
        licence="NREL, public", season=144,
    ),
}  # fmt: skip
