"""The known data sets of `catalogue.yaml`: how each is found, fetched and counted."""

import csv
import functools
import io
import shutil
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal

import pandas as pd
from pydantic import Field

from multiway.config import Config, Plain, load_yaml
from multiway.data.findings import Findings, Unreadable, quote
from multiway.data.looking import read_frame
from multiway.data.options import FileOptions, ReadOptions
from multiway.data.sources.bytes import bytes_of, unpack_bytes
from multiway.data.sources.columns import find_time_column
from multiway.data.sources.series_reading import looks_like_sequences, read_sequences
from multiway.data.sources.tables import load_table
from multiway.data.writing import write_table
from multiway.errors import DataError, in_a_line
from multiway.files import atomic_folder, make_folder
from multiway.lazy import is_installed, load_extensions

FILE = Path(__file__).with_suffix(".yaml")
LARGEST = 4 * 2**30
"""Bytes that a member of an archive may unfold to."""
KEPT = "Nothing was kept."


class Dataset(Config):
    """One known data set, as the catalogue of its kind lists it."""

    kind: str
    """What it holds, in a word or two."""
    holds: str
    """Its size in words."""
    files: tuple[str, ...]
    """Names under which a local copy is looked for, the first being that of a download."""
    url: str = ""
    """Official address, or the usual one where the authors keep none; none for a set that is made here."""
    licence: str
    """Under which terms it is published."""
    known_hash: str | None = None
    """Its hash with the name of the method in front; None where none is pinned, and its size is compared."""
    task: str = ""
    """The task that it is for, where no file of tasks says it."""
    settings: Plain = Field(default_factory=dict)
    """What it brings to the config of that task."""

    def find(self, folders: Sequence[Path]) -> Path | None:
        """The first copy that lies in one of the folders."""
        raise NotImplementedError

    def fetch(self, name: str, folder: Path) -> Path:
        """Download or make it in a folder unless it is there, verify it, and return its path."""
        raise NotImplementedError


class Entry(Dataset):
    """One of the file of known data sets."""

    form: Literal["file", "table", "login", "series", "texts", "text", "images", "lesions", "scene"]
    """How it is given out: a file, a table that is counted, a page with a login, archives of series or texts; or how it
    is made."""
    size: tuple[int, ...] = ()
    """Rows and columns of a table, words of a text, or rows of texts, as published."""
    counts: tuple[int, ...] = ()
    """Samples to train, validate and test on."""
    classes: tuple[str, ...] = ()
    """Names of the labels 0, 1, ..."""
    shapes: bool = False
    """Whether its volumes are masks of shapes."""
    official: str = ""
    """What its archive calls it."""
    partial: str = ""
    """What lacks in a copy that is not whole; such a set is never fetched."""
    members: dict[str, str] = Field(default_factory=dict)
    """Tab-separated files of its archive by the split that they hold."""
    header: tuple[str, ...] | None = None
    """Names of the columns where those files have none."""
    recipe: str = ""
    """How files are made of what a page gives."""
    source: str = ""
    """The data set that it is made of."""
    package: str = ""
    """The library that ships it; it is read by its name then."""

    def find(self, folders: Sequence[Path]) -> Path | None:
        """The first copy that lies in one of the folders; the name of a set that an installed package ships."""
        if self.package:
            return Path(self.files[0]) if is_installed(self.package) else None
        return first_in(folders, self.files, PRESENT.get(self.form, Path.is_file))

    def fetch(self, name: str, folder: Path) -> Path:
        """Download or make it in a folder unless it is there, verify it, and return its path."""
        load_extensions("makers")
        return FETCH.get(self.form, _file)(self, name, folder)


PRESENT: dict[str, Callable[[Path], bool]] = {
    "series": looks_like_sequences,
    "text": Path.exists,
    "images": lambda path: path.is_file() or (path / "test-labels.npy").is_file(),
}
"""What counts as a copy, where that is more than a file."""


@functools.cache
def entries() -> dict[str, Entry]:
    """Every data set of the file by its name."""
    return {name: Entry.parse(fields, f"{FILE.name}: {name}") for name, fields in load_yaml(FILE).items()}


def find_by_file(path: Path) -> Entry | None:
    """The set that a file is by its name, also at 64 voxels; its classes and counts are checked where it is read."""
    return entries().get(path.name.lower().removesuffix(".npz").removesuffix("_64"))


def first_in(
    folders: Sequence[Path], files: Sequence[str], is_there: Callable[[Path], bool] = Path.is_file
) -> Path | None:
    """The first of the named files, or of what counts as there, in the first folder that holds one."""
    return next((path for folder in folders for file in files if is_there(path := folder / file)), None)


def download(name: str, url: str | None, known_hash: str | None, path: Path) -> Path:
    """Fetch an address into a path, and compare its hash where one is known; what is there is kept."""
    import pooch

    pooch.get_logger().setLevel("ERROR")
    try:
        return Path(pooch.retrieve(url, known_hash=known_hash, fname=path.name, path=path.parent, progressbar=False))
    except (OSError, ValueError) as error:
        reason = quote(in_a_line(error), 160)
        raise DataError(
            f"{name} could not be fetched from {url}: {reason}. Fetch {path.name} by other means and set "
            f"MULTIWAY_DATA to its folder."
        ) from None


def _file(known: Entry, name: str, folder: Path) -> Path:
    """A file with a hash, or one that is counted."""
    if known.form == "images" and known.known_hash is None:
        raise DataError(f"{name}: this part is at no address. Use cifar100, or set MULTIWAY_DATA to its folder.")
    path = download(name, known.url, known.known_hash, folder / known.files[0])
    if known.known_hash is None:
        findings = Findings(path.name)
        try:
            table = load_table(path, ReadOptions(), findings)
            time = find_time_column(table, ReadOptions(), findings)
            got = f"{len(table.frame):,} rows x {len(table.names) - (time is not None)} variates"
        except Unreadable:
            got = str(findings.error())
        if got != known.holds:
            path.unlink(missing_ok=True)
            raise DataError(f"{name}: {known.url} should hold {known.holds}. Got {got}. The file was not kept.")
    return path


def _login(known: Entry, name: str, folder: Path) -> Path:
    """A copy in the folder, if its size is that published; the page needs a login."""
    path = known.find([folder])
    if path is None:
        raise DataError(
            f"{name}: {known.url} needs a login. Download it there, and set MULTIWAY_DATA to the folder that "
            f"holds {known.files[0]}."
        )
    shape = read_frame(path, FileOptions()).shape
    if shape != known.size:
        raise DataError(f"{name}: {path} should hold {known.holds}. Got {shape[0]:,} rows x {shape[1]} columns.")
    return path


def _series(known: Entry, name: str, folder: Path) -> Path:
    """The two files of an archive of UCR or UEA."""
    if known.partial:
        raise DataError(f"{name}: {known.partial}. It is not published so; fetch {known.official} from {known.url}.")
    target = folder / known.files[0]
    if looks_like_sequences(target):
        return target
    archive = download(name, known.url, None, folder / f"{known.official}.zip")
    try:
        return unpack(archive, target, known)
    finally:
        archive.unlink(missing_ok=True)


def unpack(archive: Path, folder: Path, known: Entry) -> Path:
    """Write the training and the test file into a new folder, if they hold what is expected.

    Nothing is left behind where they do not.
    """
    expected = {f"{known.official}_{part}.ts" for part in ("TRAIN", "TEST")}
    make_folder(folder.parent)
    with atomic_folder(folder) as made:
        try:
            with zipfile.ZipFile(archive) as packed:
                for member in packed.infolist():
                    name = PurePosixPath(member.filename).name
                    if name in expected and member.file_size <= LARGEST:
                        with packed.open(member) as source, (made / name).open("wb") as sink:
                            shutil.copyfileobj(source, sink)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            where = quote(archive.name)
            raise DataError(f"{where}: the archive is broken ({quote(error, 80)}). Fetch it again.") from None
        if not looks_like_sequences(made):
            rule = f"{known.url} should hold {known.official}_TRAIN.ts and its test"
            raise DataError(f"{rule}. It does not. {KEPT}")
        parts = read_sequences(made).parts or ()
        got = (parts.count("train"), parts.count("test"))
        if got != known.counts:
            raise DataError(f"{known.url} should hold {known.holds}. Got {got[0]:,} + {got[1]:,}. {KEPT}")
    return folder


def _texts(known: Entry, name: str, folder: Path) -> Path:
    """The copy in the folder, or a download of the archive written as one table."""
    path = known.find([folder])
    if path is not None:
        return path
    if not known.members:
        raise DataError(
            f"{name}: {known.url} gives no table. Write its texts to {known.files[0]} with the columns dataset, "
            f"split, label and text, and set MULTIWAY_DATA to its folder."
        )
    archive = download(name, known.url, None, folder / Path(known.url).name)
    frame = join_texts(archive, known)
    archive.unlink()
    if len(frame) != known.size[0]:
        raise DataError(f"{name}: {known.url} should hold {known.holds}. Got {len(frame):,}. {KEPT}")
    write_table(frame, folder / known.files[0])
    return folder / known.files[0]


def join_texts(archive: Path, known: Entry) -> pd.DataFrame:
    """The archive's files below each other, with a column that says the split."""
    names = None if known.header is None else list(known.header)
    with zipfile.ZipFile(archive) as packed:
        parts = {split: io.StringIO(packed.read(member).decode()) for split, member in known.members.items()}
    frames = []
    for split, text in parts.items():
        frame = pd.read_csv(text, sep="\t", names=names, quoting=csv.QUOTE_NONE, keep_default_na=False)
        frames.append(frame.assign(split=split))
    return pd.concat(frames, ignore_index=True)


def _text(known: Entry, name: str, folder: Path) -> Path:
    """A file with a hash, or the copy of what a page gives, if its words or rows are as many as published."""
    if known.known_hash is not None:
        return _file(known, name, folder)
    path = known.find([folder])
    if path is None:
        raise DataError(f"{name}: {known.recipe}, from {known.url}, and set MULTIWAY_DATA to the folder that holds it.")
    if path.is_dir():
        import pyarrow.parquet

        parts = sorted(path.rglob("*.parquet"))
        got, unit = sum(pyarrow.parquet.read_metadata(part).num_rows for part in parts), "rows"
    else:
        findings = Findings(path.name)
        text = unpack_bytes(bytes_of(path, findings), LARGEST, findings).decode("utf-8", "replace")
        got, unit = len(text.split()), "words"
    if (got,) != known.size:
        size = f"{known.size[0]:,} {unit}"
        raise DataError(f"{name}: {path} should hold {size}. Got {got:,}. Take it anew from {known.url}.")
    return path


FETCH: dict[str, Callable[[Entry, str, Path], Path]] = {
    "login": _login,
    "series": _series,
    "texts": _texts,
    "text": _text,
}
