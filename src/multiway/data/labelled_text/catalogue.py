"""Public sets of labelled texts: CoLA and SST-2 of NdLinear's table 3, and the five of sentence classification."""

import csv
import dataclasses
import io
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from multiway.data import datasets
from multiway.data.writing import write_table
from multiway.errors import DataError

FIVE = ("text_mr_subj_cr_mpqa_trec.parquet",)
"""MR, Subj, CR, MPQA and TREC in one table: dataset, split, label, text."""
CORNELL = "https://www.cs.cornell.edu/people/pabo/movie-review-data/"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TextDataset:
    """One public set.

    rows: As published.
    members: Tab-separated files in the archive at the address, by the split that they hold; empty where the address is
        a page with files of a form of its own.
    header: Names of the columns where those files have none.
    read: Columns and rows of the table.
    """

    files: tuple[str, ...]
    url: str
    rows: int
    read: dict[str, Any]
    licence: str = "see its page"
    members: tuple[tuple[str, str], ...] = ()
    header: tuple[str, ...] | None = None
    known_hash: None = None
    kind: str = "labelled texts"
    task: str = "text"

    @property
    def holds(self) -> str:
        """Its size in words."""
        return f"{self.rows:,} texts"

    @property
    def settings(self) -> dict[str, Any]:
        """Its columns and rows."""
        return {"read": self.read}

    def find(self, folders: Sequence[Path]) -> Path | None:
        """The first copy that lies in one of the folders."""
        return datasets.first_in(folders, self.files)

    def fetch(self, name: str, folder: Path) -> Path:
        """The copy in the folder, or a download of the archive written as one table.

        Raises:
            DataError: The address does not answer, has no table to download, or holds another number of texts.
        """
        found = self.find([folder])
        if found is not None:
            return found
        if not self.members:
            raise DataError(
                f"{name}: {self.url} gives no table. Write its texts to {self.files[0]} with the columns dataset, "
                f"split, label and text, and set MULTIWAY_DATA to its folder."
            )
        archive = datasets.download(name, self, folder / Path(self.url).name)
        frame = self.unpacked(archive)
        archive.unlink()
        if len(frame) != self.rows:
            raise DataError(f"{name}: {self.url} should hold {self.holds}. Got {len(frame):,}. Nothing was kept.")
        write_table(frame, folder / self.files[0])
        return folder / self.files[0]

    def unpacked(self, archive: Path) -> pd.DataFrame:
        """The archive's files below each other, with a column that says the split."""
        with zipfile.ZipFile(archive) as packed:
            parts = {split: packed.read(member).decode() for member, split in self.members}
        frames = [_tabs(text, self.header).assign(split=split) for split, text in parts.items()]
        return pd.concat(frames, ignore_index=True)


def _tabs(text: str, header: tuple[str, ...] | None) -> pd.DataFrame:
    names = None if header is None else list(header)
    return pd.read_csv(io.StringIO(text), sep="\t", names=names, quoting=csv.QUOTE_NONE, keep_default_na=False)


def _one_of_five(name: str, url: str, rows: int, **read: Any) -> TextDataset:
    columns = {"text": "text", "target": "label", "where": {"dataset": name}, "empty": "keep"}
    return TextDataset(files=FIVE, url=url, rows=rows, read={**columns, **read})


SENTENCES = {"text": "sentence", "target": "label", "split": "split"}
DATASETS: dict[str, datasets.Dataset] = {
    "cola": TextDataset(
        files=("cola.parquet",), url="https://nyu-mll.github.io/CoLA/cola_public_1.1.zip", rows=9_594, read=SENTENCES,
        header=("source", "label", "star", "sentence"),
        members=(
            ("cola_public/raw/in_domain_train.tsv", "train"), ("cola_public/raw/in_domain_dev.tsv", "dev"),
            ("cola_public/raw/out_of_domain_dev.tsv", "ood_dev"),
        ),
    ),
    "sst2": TextDataset(
        files=("sst2.parquet",), url="https://dl.fbaipublicfiles.com/glue/data/SST-2.zip", rows=68_221, read=SENTENCES,
        members=(("SST-2/train.tsv", "train"), ("SST-2/dev.tsv", "dev")),
    ),
    "mr": _one_of_five("mr", f"{CORNELL}rt-polaritydata.tar.gz", 10_662),
    "subj": _one_of_five("subj", f"{CORNELL}rotten_imdb.tar.gz", 10_000),
    "cr": _one_of_five("cr", "https://www.cs.uic.edu/~liub/FBS/sentiment-analysis.html", 3_775),
    "mpqa": _one_of_five("mpqa", "https://mpqa.cs.pitt.edu/corpora/mpqa_corpus/", 10_606),
    "trec": _one_of_five("trec", "https://cogcomp.seas.upenn.edu/Data/QA/QC/", 5_952, split="split"),
}  # fmt: skip
