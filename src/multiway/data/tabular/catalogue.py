"""The two public tables of the NdLinear paper (table 5)."""

import dataclasses

from multiway.data.tabular.options import TableOptions


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TableDataset:
    """One public table.

    files: Names under which a local copy is looked for.
    url: Page from which its authors give it out.
    rows, columns: Size as published.
    read: The target, and the inputs whose number is that of the published networks.
    """

    files: tuple[str, ...]
    url: str
    rows: int
    columns: int
    licence: str
    read: TableOptions

    @property
    def known_hash(self) -> None:
        """None is pinned: the authors give no plain address, and copies differ in format."""

    @property
    def holds(self) -> str:
        """Its size in words."""
        return f"{self.rows:,} rows x {self.columns} columns"


KAGGLE = "https://www.kaggle.com/datasets/{}"

TABLE_DATASETS: dict[str, TableDataset] = {
    "cardio": TableDataset(
        files=("cardio.parquet", "cardio.csv", "cardio_train.csv"),
        url=KAGGLE.format("sulianova/cardiovascular-disease-dataset"), rows=70_000, columns=13,
        licence="unknown", read=TableOptions(target="cardio", drop=("id",)),
    ),
    "food_delivery": TableDataset(
        files=("food_delivery.parquet", "food_delivery.csv"),
        url=KAGGLE.format("rajatkumar30/food-delivery-time"), rows=45_593, columns=11,
        licence="unknown", read=TableOptions(target="Time_taken(min)", drop=("ID", "Delivery_person_ID")),
    ),
}  # fmt: skip
