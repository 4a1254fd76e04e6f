"""Public sets of labelled series: those of NdLinear's table 6, and Epilepsy."""

import dataclasses
import shutil
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from multiway.data import datasets
from multiway.data.findings import quoted
from multiway.data.sequences.reading import looks_like_sequences, read_sequences
from multiway.errors import DataError
from multiway.files import atomic_folder, make_folder

URL = "https://www.timeseriesclassification.com/aeon-toolkit/{}.zip"
MAX_BYTES = 4 * 2**30


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class SequenceDataset:
    """One public set, published as a ZIP archive of NAME_TRAIN.ts and NAME_TEST.ts.

    official: Its name in the archive.
    files: Names under which a local copy is looked for: the folder of a download, and single files.
    counts: Series to train and to test on, as published.
    size: Steps and variates.
    missing: What lacks in a copy that is not whole; such a set is never fetched.
    """

    official: str
    files: tuple[str, ...]
    counts: tuple[int, int]
    size: tuple[int, int]
    missing: str = ""
    licence: str = "see its page"
    known_hash: None = None
    kind: str = "labelled series"
    task: str = "series"

    @property
    def url(self) -> str:
        """Official address of the whole set."""
        return URL.format(self.official)

    @property
    def holds(self) -> str:
        """Its size in words."""
        train, test = self.counts
        rest = f"; {self.missing}" if self.missing else ""
        return f"{train:,} + {test:,} series of {self.size[0]} steps x {self.size[1]} variates{rest}"

    @property
    def settings(self) -> dict[str, Any]:
        """Nothing: the files say it all."""
        return {}

    def find(self, folders: Sequence[Path]) -> Path | None:
        """The first copy that lies in one of the folders."""
        return datasets.first_in(folders, self.files, looks_like_sequences)

    def fetch(self, name: str, folder: Path) -> Path:
        """Download the archive and keep its two files, unless they are there.

        Raises:
            DataError: The address does not answer, the archive is another, or this is no whole set; nothing is kept.
        """
        if self.missing:
            raise DataError(f"{name}: {self.missing}. It is not published so; fetch {self.official} from {self.url}.")
        target = folder / self.files[0]
        if looks_like_sequences(target):
            return target
        archive = datasets.download(name, self, folder / f"{self.official}.zip")
        try:
            return unpack(archive, target, self)
        finally:
            archive.unlink(missing_ok=True)


def unpack(archive: Path, folder: Path, known: SequenceDataset) -> Path:
    """Write the training and the test file into a new folder, if they hold what is expected.

    Raises:
        DataError: They do not, or it is no such archive; nothing is left behind then.
    """
    wanted = {f"{known.official}_{part}.ts" for part in ("TRAIN", "TEST")}
    make_folder(folder.parent)
    with atomic_folder(folder) as made:
        try:
            with zipfile.ZipFile(archive) as packed:
                for member in packed.infolist():
                    name = PurePosixPath(member.filename).name
                    if name in wanted and member.file_size <= MAX_BYTES:
                        _copy(packed, member, made / name)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            where = quoted(archive.name)
            raise DataError(f"{where}: the archive is broken ({quoted(error, 80)}). Fetch it again.") from None
        _check_counts(made, known)
    return folder


def _copy(packed: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> None:
    with packed.open(member) as source, target.open("wb") as sink:
        shutil.copyfileobj(source, sink)


def _check_counts(folder: Path, known: SequenceDataset) -> None:
    if not looks_like_sequences(folder):
        raise DataError(
            f"{known.url} should hold {known.official}_TRAIN.ts and its test. It does not. Nothing was kept."
        )
    parts = read_sequences(folder).parts or ()
    got = (parts.count("train"), parts.count("test"))
    if got != known.counts:
        raise DataError(f"{known.url} should hold {known.holds}. Got {got[0]:,} + {got[1]:,}. Nothing was kept.")


def _set(
    official: str, counts: tuple[int, int], steps: int, variates: int = 1, others: tuple[str, ...] = ()
) -> SequenceDataset:
    return SequenceDataset(official=official, files=(official, *others), counts=counts, size=(steps, variates))


DATASETS: dict[str, datasets.Dataset] = {
    "ecg_five_days": _set("ECGFiveDays", (23, 861), 136, others=("ucr_ECGFiveDays.npz",)),
    "ecg5000": _set("ECG5000", (500, 4500), 140, others=("ucr_ECG5000.npz",)),
    "chlorine_concentration": _set("ChlorineConcentration", (467, 3840), 166),
    "chlorine_concentration_partial": SequenceDataset(
        official="ChlorineConcentration", files=("ucr_ChlorineConcentration_partial.npz",), counts=(467, 1136),
        size=(166, 1), missing="its test lacks 2,704 of the 3,840 official series",
    ),
    "heartbeat": _set("Heartbeat", (204, 205), 405, 61),
    "lsst": _set("LSST", (2459, 2466), 36, 6),
    "sleep": _set("Sleep", (478_785, 90_315), 178),
    "epilepsy": _set("Epilepsy", (137, 138), 206, 3, others=("uea_Epilepsy.npz",)),
}  # fmt: skip
