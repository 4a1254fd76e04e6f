"""The two public tables of the NdLinear paper (table 5)."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from multiway.data import datasets
from multiway.data.tabular.looking import read_frame
from multiway.data.tabular.options import TableOptions
from multiway.errors import DataError

KAGGLE = "https://www.kaggle.com/datasets/{}"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TableDataset:
    """One public table, given out at a page that asks for a login.

    rows, columns: Size as published.
    read: The target, and the columns left out, with which inputs are as many as those of the published networks.
    """

    files: tuple[str, ...]
    url: str
    rows: int
    columns: int
    read: dict[str, Any]
    licence: str = "see its page"
    known_hash: None = None
    kind: str = "rows of a table"
    task: str = "tabular"

    @property
    def holds(self) -> str:
        """Its size in words."""
        return f"{self.rows:,} rows x {self.columns} columns"

    @property
    def settings(self) -> dict[str, Any]:
        """Its target and the columns to leave out."""
        return {"read": self.read}

    def find(self, folders: Sequence[Path]) -> Path | None:
        """The first copy that lies in one of the folders."""
        return datasets.first_in(folders, self.files)

    def fetch(self, name: str, folder: Path) -> Path:
        """The copy in the folder, if its size is that published.

        Raises:
            DataError: There is none, as the page asks for a login; or it is another.
        """
        found = self.find([folder])
        if found is None:
            raise DataError(
                f"{name}: {self.url} asks for a login. Download it there, and set MULTIWAY_DATA to the folder that "
                f"holds {self.files[0]}."
            )
        shape = read_frame(found, TableOptions()).shape
        if shape != (self.rows, self.columns):
            raise DataError(f"{name}: {found} should hold {self.holds}. Got {shape[0]:,} rows x {shape[1]} columns.")
        return found


DATASETS: dict[str, datasets.Dataset] = {
    "cardio": TableDataset(
        files=("cardio_train.csv", "cardio.csv", "cardio.parquet"), rows=70_000, columns=13,
        url=KAGGLE.format("sulianova/cardiovascular-disease-dataset"), read={"target": "cardio", "drop": ["id"]},
    ),
    "food_delivery": TableDataset(
        files=("deliverytime.csv", "food_delivery.csv", "food_delivery.parquet"), rows=45_593, columns=11,
        url=KAGGLE.format("rajatkumar30/food-delivery-time"),
        read={"target": "Time_taken(min)", "drop": ["ID", "Delivery_person_ID"]},
    ),
}  # fmt: skip
