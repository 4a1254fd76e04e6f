"""How data are read, split, changed and encoded: every option, as configs that import neither torch nor numpy."""

import unicodedata
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from multiway.config import Config, Flag, read_names

MAX_BYTES = 2**29
"""What data may unfold to behind any door, unless `max_bytes` says otherwise: 512 MiB, a cube of 512 in float32."""
MAX_FILES = 250_000
CLASS_NAMES = ("class", "label", "target")
TargetKind = Literal["auto", "classes", "number"]
LabelKind = Literal["auto", "classes", "number", "labels"]
Channels = Literal["auto", "grey", "rgb"]
Triple = tuple[int, int, int]
Normalisation = Literal["auto", "none", "unit", "volume", "train"]


def compose(text: str) -> str:
    """Text with every accent in its letter (NFC)."""
    return unicodedata.normalize("NFC", text)


Names = Annotated[tuple[str, ...], AfterValidator(lambda names: tuple(map(compose, names)))]
"""A field of names, composed."""


class NamedOptions(Config):
    """Options that name columns and series, composed as the names in tables are."""

    paths: ClassVar[tuple[str, ...]] = ()
    """Fields that are names of files, which stay as the disk has them."""

    @model_validator(mode="before")
    @classmethod
    def _compose(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        return {name: value if name in cls.paths else _each(value) for name, value in values.items()}


def _each(value: Any) -> Any:
    if isinstance(value, str):
        return compose(value)
    return type(value)(map(_each, value)) if type(value) in (list, tuple) else value


class Limits(NamedOptions):
    """How much may be read; each field lifts its limit."""

    max_files: int = Field(MAX_FILES, gt=0)
    """Files that a folder may hold, those of its folders among them."""
    max_seconds: float | None = Field(None, gt=0)
    """What reading may take; unless given, a minute, and a second more for every megabyte and every hundred files. It
    is looked at with each file that is opened."""


class Budget(Limits):
    """Limits of what is read file by file."""

    max_bytes: int = Field(MAX_BYTES, gt=0)
    """What a packed file may unfold to, and a table or an array may take."""


def is_orientation(code: str) -> bool:
    """Whether three letters name each direction of the body once."""
    return len(code) == 3 and all(set(pair) & set(code) for pair in ("RL", "AP", "SI"))


def several(given: object) -> object:
    """One name as a list of one."""
    return (given,) if isinstance(given, str) else given


class FileOptions(Budget):
    """How the bytes of a table become columns, whatever it is a table of."""

    encoding: str | None = None
    """Text encoding; UTF-8, else Windows-1252, if not given."""
    decimal: Literal["auto", ".", ","] = "auto"
    """What separates the fraction of a number; "auto" takes a comma where a cell can mean nothing else, as 1.203,27."""
    day_first: bool | None = None
    """Whether 01/02/2024 is the first of February; needed only where both readings make sense."""
    sheet: str | None = None
    """Sheet of an Excel file; the first if not given."""
    sentinels: tuple[float, ...] | None = None
    """Numbers that mean missing; an empty list takes every number as it is. Unless given, those that stand apart from
    all others of their column are refused, but -9999 among series, which is missing."""
    no_header: Annotated[bool | None, Flag("The first row is data: columns are named 0, 1, 2.", is_argument=False)] = (
        None
    )
    quoting: Literal["auto", "none"] = "auto"
    """Whether quotation marks around a cell of a text file are left out; "none" takes all of them as text."""

    as_text: ClassVar[tuple[str, ...]] = ()
    """Fields that name columns which are text though they may look like numbers."""
    as_names: ClassVar[tuple[str, ...]] = ()
    """Fields that name columns of classes and groups, whose numbers are names where they are written as such."""
    usual_names: ClassVar[tuple[str, ...]] = ()
    """Columns of classes that are found by these names."""


class ReadOptions(FileOptions):
    """How a file or frame of series is read."""

    as_text = ("time_column", "id_column")

    @property
    def missing_marks(self) -> tuple[float, ...]:
        """Numbers that mean missing, said or not."""
        return (-9999.0,) if self.sentinels is None else self.sentinels

    time_column: Annotated[str | None, Flag("Column of times; found if not given.", option="time")] = None
    id_column: Annotated[
        Annotated[tuple[str, ...], BeforeValidator(several)] | None,
        Flag(
            "Columns that name the series of a long table: store or store,item; found if not given.",
            option="id",
            read=read_names,
        ),
    ] = None
    """Columns of series names, in a long table: one, or several that name a series together."""
    value_column: Annotated[
        str | None, Flag("Column of values of a long table; found if not given.", option="value")
    ] = None
    variates: Annotated[tuple[str, ...] | None, Flag("Columns to use; all if not given.")] = None
    """Series to keep, in this order; all if not given."""
    missing: Annotated[
        Literal["error", "mask", "ffill"], Flag("What to do with missing cells: error, mask or ffill.")
    ] = "error"
    """Missing cells: refuse, keep out of scaler, loss and attention, or repeat the last value."""
    duplicates: Annotated[
        Literal["error", "first", "last", "mean", "keep"],
        Flag("Repeated time stamps: error, first, last, mean or keep."),
    ] = "error"
    """Rows with one time stamp: refuse, keep one, average, or take them as successive steps."""
    gaps: Annotated[Literal["error", "fill", "ignore"], Flag("Absent time stamps: error, fill or ignore.")] = "error"
    """Absent time stamps: refuse, insert missing rows, or take rows as successive steps."""
    unsorted: Literal["error", "sort"] = "error"
    """Rows not in the order of time: refuse or sort."""
    frequency: Annotated[
        str | None, Flag("Step between times: h, D, MS or 'h Mon-Fri 09:30-15:30'; found if not given.")
    ] = None
    """Step between times as a pandas alias (h, 10min, D, MS), with the days and times of sessions where there are rows
    at these alone ("h Mon-Fri 09:30-15:30", "D Mon-Sat"); inferred if not given."""
    resample: Annotated[
        Literal["last", "mean", "sum"] | None,
        Flag("What a step of the frequency has of rows off it: last, mean or sum; refused if not given."),
    ] = None
    """What a step of `frequency` has of several rows, or of rows off it: the last value up to it, or the mean or sum of
    those from it to the next; the end of a month (ME), quarter or year has its own rows. A step without a row is
    missing, and masked. "last" if not given and gaps are filled."""


class SequenceOptions(FileOptions):
    """What the columns of a long table are, and how long series may be; files of archives say the former themselves."""

    as_names, usual_names = ("target", "group", "id"), CLASS_NAMES

    target: Annotated[str | None, Flag("Column of classes in a long table.")] = None
    """Column of classes; found by name (class, label) if not given."""
    id: Annotated[str | None, Flag("Column that names the series of each row of a long table.")] = None
    """Column that names the series of each row; found by name if not given."""
    time: Annotated[str | None, Flag("Column of times of a long table.")] = None
    """Column of times, by which the rows of a series are put in order; found by name, else rows are as they stand."""
    group: Annotated[str | None, Flag("Column whose series stay in one split, such as a patient.")] = None
    columns: Annotated[tuple[str, ...] | None, Flag("Columns of values to keep: x,y,z.")] = None
    """Columns of values to keep; all others if not given."""
    length: int | None = Field(None, gt=0)
    """Steps that every series is padded to; those of the longest if not given. A longer one is refused."""
    time_axis: Literal[1, 2] | None = None
    """Axis of a .npz that is time, where the other one of 1 and 2 holds variates; the longer one if not given."""
    missing: Literal["mask", "error"] = "mask"
    """Missing values: leave them out of what a model sees, or refuse."""

    @model_validator(mode="after")
    def _roles_differ(self) -> Self:
        roles = [name for name in (self.target, self.id, self.time, self.group) if name is not None]
        if len(set(roles)) < len(roles):
            raise ValueError(f"target, id, time and group are different columns. Got {', '.join(roles)}")
        return self


class PictureOptions(Limits):
    """What is made of images whose sizes or colours differ."""

    size: Annotated[int | None, Flag("Side in pixels that every image is resized to."), Field(ge=1, le=8192)] = None
    """Side in pixels that every image is resized to; unless given, all must be of one size."""
    kind: Annotated[Literal["classes", "labels"], Flag("What an image has: a class, or several labels.")] = "classes"
    """What an image has. Labels of a .npz are columns of 0 and 1, or cells as `cat|dog`."""
    channels: Annotated[Channels, Flag("Grey or coloured; auto keeps what they are.")] = "auto"
    """What images become: `auto` is grey where all of them are grey, else colour."""
    max_bytes: int | None = Field(None, gt=0)
    """What all images together may take in memory, one byte per value; unless given, 512 MiB, or up to 4 GiB where
    that is at most 64 times what their files take."""


ValidationShare = Annotated[
    float, Flag("Share of the data that chooses the best epoch.", commands=()), Field(gt=0, lt=1)
]
TestShare = Annotated[float, Flag("Share of the data that is scored once, at the end.", commands=()), Field(gt=0, lt=1)]


class Shares(Config):
    """How much of the data validates and tests; the rest is trained on."""

    validation: ValidationShare = 0.15
    """Share to choose the best epoch on."""
    test: TestShare = 0.2
    """Share to test on, once, at the end."""

    @model_validator(mode="after")
    def _leaves_a_rest(self) -> Self:
        if self.validation + self.test >= 1:
            raise ValueError(f"validation and test must leave some to train on. Got {self.validation} and {self.test}")
        return self


class SplitShares(Shares):
    """Shares that are drawn."""

    seed: int = Field(0, ge=0)
    """Which random split it is."""


class Folds(SplitShares):
    """Shares, or one of several folds; copies of a sample are never in two splits."""

    folds: int | None = Field(None, ge=2)
    """Test on one of so many equal parts in place of the share `test`."""
    fold: int = Field(0, ge=0)
    """Which of them, from 0."""
    copies: Literal["drop", "keep"] = "drop"
    """With a column of splits: leave out training rows that are in a later split too, or keep the split as it is."""

    @model_validator(mode="after")
    def _fold_is_one_of_them(self) -> Self:
        if self.fold >= (self.folds or 1):
            raise ValueError(f"fold counts from 0 and is below folds. Got {self.fold} and {self.folds}")
        return self


class VolumeOptions(Budget):
    """How scans and the table that lists them are read."""

    paths = ("root",)

    path: str = "path"
    """Column of files: NIfTI, .npy, .npz, .dcm, or a folder that holds one DICOM series."""
    label: str = "label"
    """Column of classes or numbers."""
    kind: LabelKind = "auto"
    """What they are; `auto` takes words, truth values and a few whole numbers as classes, all else as numbers. With
    `labels` a cell names any number of them, as in `cyst|stone`."""
    patient: Annotated[str | None, Flag("Column of the patient; splits keep a patient's scans together.")] = None
    """Column of patients, who are never split; `patient` or `patient_id` if there and not given."""
    mask: str = "mask"
    """Column of segmentation masks; used if there."""
    subgroups: tuple[str, ...] = ()
    """Columns whose values divide the cases into subgroups, which are scored apart; no inputs."""
    split: str = "split"
    """Column that says train, validation or test; used if there."""
    root: str | None = None
    """Folder that relative paths start from and that no path may leave; the table's own if not given."""
    series: Annotated[str | None, BeforeValidator(lambda given: str(given) if isinstance(given, int) else given)] = None
    """Series of folders that hold several of DICOM: its number, description or UID."""
    axes: Annotated[tuple[str, str, str] | None, Flag("Names of the three axes of arrays without an affine.")] = None
    channels: bool = False
    """Take a fourth axis as channels: the last one of NIfTI, the first one of .npy and .npz."""
    orientation: Annotated[str | None, Flag("Order and direction of the axes to turn to: RAS.")] = None
    """Where the axes point, as RAS or LPS; as they lie in the file if not given."""
    spacing: Annotated[tuple[float, float, float] | None, Flag("Millimetres per voxel to resample to: 1,1,1.")] = None
    size: Annotated[Triple | None, Flag("Voxels to crop or pad to, about the centre: 64,64,64.")] = None
    cut_masks: bool = False
    """Take masks that `size` cuts; they are refused unless this is given."""
    resample_to: Annotated[Triple | None, Flag("Voxels to stretch or shrink to: 28,28,28.")] = None
    """Voxels per axis, interpolated to, whatever the spacing."""
    window: Annotated[
        tuple[float, float] | None, Flag("Lowest and highest intensity that are told apart: -100,300.")
    ] = None
    """Lowest and highest intensity; what lies outside is set to them."""
    normalise: Normalisation = "auto"
    """Intensities: `unit` (0 to 1 by the window or by 255), `train` (mean and deviation of the training voxels),
    `volume` (of each volume alone), `none`; `auto` is `unit` with a window or for bytes, else `train`."""
    shape_transform: bool = False
    """For volumes that are shapes: times U(0, 1) in training and 0.5 in evaluation."""
    distance: bool = False
    """For volumes that are shapes: add a channel that holds how many voxels deep each one lies below the surface."""

    @model_validator(mode="after")
    def _is_sound(self) -> Self:
        if self.orientation is not None and not is_orientation(self.orientation):
            raise ValueError(
                f"orientation takes one letter of each pair RL, AP and SI, such as RAS. Got {self.orientation!r}"
            )
        if self.spacing is not None and not all(0.001 <= step <= 1000 for step in self.spacing):
            raise ValueError(f"spacing is in millimetres, 0.001 to 1000 on each axis. Got {self.spacing}")
        for name, sizes in (("size", self.size), ("resample_to", self.resample_to)):
            if sizes is not None and not all(1 <= size <= 4096 for size in sizes):
                raise ValueError(f"{name} takes 1 to 4096 voxels on each axis. Got {sizes}")
        if self.window is not None and not self.window[0] < self.window[1]:
            raise ValueError(f"window must rise. Got {self.window}")
        if self.resample_to is not None and (self.spacing is not None or self.size is not None):
            raise ValueError("resample_to sets the grid by itself. Leave out spacing and size, or resample_to")
        if self.axes is not None and len(set(self.axes)) < 3:
            raise ValueError(f"axes must be three different names. Got {self.axes}")
        return self


class VolumeSplit(SplitShares):
    """How cases are split where the data does not say: by patient, each class in its share as far as possible."""


class AugmentOptions(Config):
    """Random changes of training volumes, drawn anew for each sample; all off unless given."""

    flips: tuple[Literal[0, 1, 2], ...] = ()
    """Axes that are each reversed half of the time."""
    rotate90: tuple[tuple[Literal[0, 1, 2], Literal[0, 1, 2]], ...] = ()
    """Planes, as pairs of axes, turned by a random number of right angles; half turns where sizes differ."""
    rotate: float = Field(0.0, ge=0, le=180)
    """Largest angle about each axis in degrees, interpolated."""
    zoom: float = Field(0.0, ge=0, lt=1)
    """Largest relative change of size, interpolated."""
    shift: int = Field(0, ge=0)
    """Largest move along each axis in voxels; the border is repeated."""
    crop: int = Field(0, ge=0)
    """As `shift`, but the border is mirrored: padding by reflection, and a random crop of the same size."""
    scale: float = Field(0.0, ge=0, lt=1)
    """Largest relative change of intensity."""
    offset: float = Field(0.0, ge=0)
    """Largest addition to the normalised intensity."""
    noise: float = Field(0.0, ge=0)
    """Standard deviation of Gaussian noise on the normalised intensity."""

    @model_validator(mode="after")
    def _planes_have_two_axes(self) -> Self:
        if any(first == second for first, second in self.rotate90):
            raise ValueError(f"rotate90 takes pairs of different axes. Got {self.rotate90}")
        if len(set(self.flips)) < len(self.flips):
            raise ValueError(f"flips names an axis twice. Got {self.flips}")
        return self


class EncoderOptions(Config):
    """Which encoder, and how it is run."""

    encoder: str = "auto"
    """`minilm`, `finbert`, `hashed` (no network, no download), or the name or folder of any model that transformers
    loads; `auto` is minilm where it is installed, else hashed."""
    max_tokens: int = Field(128, ge=4)
    """Tokens of a text that a network sees; the rest is cut off."""
    max_parts: int = Field(1, ge=1)
    """Parts of so many tokens that a frozen network sees of a longer text: its vector is the mean over all of them."""
    batch_tokens: int = Field(4096, gt=0)
    """Tokens that go through a network at once, padding counted; fewer take less memory."""
    dtype: Literal["auto", "float32", "bf16"] = "auto"
    """Precision of a network's products; `auto` is bf16 where the processor is fast at it."""
    device: str = "auto"
    """Where a network runs, such as cpu or cuda:0; `auto` is a GPU if there is one."""
    hashed_dim: int = Field(512, ge=8, le=65536)
    """Features of the hashed encoder."""
    cache: str | None = None
    """Folder that keeps vectors between runs; next to the downloaded data sets if not given."""

    @model_validator(mode="after")
    def _a_text_fits_a_batch(self) -> Self:
        if self.batch_tokens < self.max_tokens:
            raise ValueError(
                f"batch_tokens must hold one text of max_tokens. Got {self.batch_tokens} and {self.max_tokens}"
            )
        if not self.encoder.strip():
            raise ValueError("encoder must be a name or a folder. Got an empty one")
        return self
