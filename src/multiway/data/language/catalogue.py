"""Public texts for language modelling, and those that the NdLinear paper trains OPT on (section 4.3)."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from multiway.data import datasets
from multiway.data.language.reading import read_texts
from multiway.data.language.texts import words_of
from multiway.errors import DataError

HUB = "https://huggingface.co/datasets/{}"
SHAKESPEARE_SHA256 = "sha256:86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TextDataset:
    """One public text.

    files: Names of a file, or of a folder with a file per split.
    known_hash: Of the official file; without one there is a page, and the user writes the files.
    recipe: How the files are made of what the page gives.
    size: Words of the training file, or rows of all Parquet files of a folder, as published.
    read: Where a document ends.
    """

    files: tuple[str, ...]
    url: str
    holds: str
    licence: str
    known_hash: str | None = None
    recipe: str = ""
    size: int = 0
    read: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    kind: str = "text"
    task: str = "language"

    @property
    def settings(self) -> dict[str, Any]:
        """Where a document ends."""
        return {"read": dict(self.read)} if self.read else {}

    def find(self, folders: Sequence[Path]) -> Path | None:
        """The first copy that lies in one of the folders."""
        return datasets.first_in(folders, self.files, Path.exists)

    def fetch(self, name: str, folder: Path) -> Path:
        """Download the file; or take the copy in the folder.

        Raises:
            DataError: The address does not answer, the file is another, or there is no copy of what a page gives.
        """
        if self.known_hash is not None:
            return datasets.download(name, self, folder / self.files[0])
        found = self.find([folder])
        if found is None:
            where = "and set MULTIWAY_DATA to the folder that holds it"
            raise DataError(f"{name}: {self.recipe}, from {self.url}, {where}.")
        got = _rows_in(found) if found.is_dir() else _words_in(found)
        if got != self.size:
            what = "rows" if found.is_dir() else "words"
            raise DataError(
                f"{name}: {found} should hold {self.size:,} {what}. Got {got:,}. Take it anew from {self.url}."
            )
        return found


def _rows_in(folder: Path) -> int:
    import pyarrow.parquet

    return sum(pyarrow.parquet.read_metadata(path).num_rows for path in sorted(folder.rglob("*.parquet")))


def _words_in(path: Path) -> int:
    return sum(map(words_of, read_texts(path, later=True).documents))


DATASETS: dict[str, datasets.Dataset] = {
    "wikitext2": TextDataset(
        files=("wikitext2_train.txt.zst", "wiki.train.tokens", "wikitext2/wiki.train.tokens"),
        url=HUB.format("Salesforce/wikitext"), holds="2,051,910 training words, 213,886 and 241,211 held out",
        licence="CC BY-SA 4.0", read={"documents": "heading"}, size=2_051_910,
        recipe="write the lines of wikitext-2-v1 to wiki.train.tokens, wiki.valid.tokens and wiki.test.tokens",
    ),
    "tinyshakespeare": TextDataset(
        files=("tinyshakespeare.txt", "tinyshakespeare.txt.zst"), known_hash=SHAKESPEARE_SHA256,
        url="https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
        holds="202,651 words", licence="public domain", read={"documents": "file"},
    ),
    "bookcorpus": TextDataset(
        files=("bookcorpus",), size=74_004_228, url=HUB.format("bookcorpus/bookcorpus"),
        holds="74,004,228 sentences of 11,038 books, one a row", licence="see its page",
        recipe="keep its Parquet files in a folder bookcorpus",
    ),
    "wiki40b_en": TextDataset(
        files=("wiki40b_en",), size=3_252_407, url=HUB.format("google/wiki40b"),
        holds="2,926,536 articles, 163,597 and 162,274 held out", licence="CC BY-SA 4.0",
        recipe="keep the Parquet files of its part en in a folder wiki40b_en",
    ),
}  # fmt: skip
