"""How volumes are read, split and varied; nothing is turned, resampled or cut unless one of these says so."""

from typing import Literal, Self

from pydantic import model_validator

from multiway.data.sources.budget import Budget
from multiway.data.sources.bytes import MAX_BYTES as MAX_BYTES
from multiway.data.sources.scans.volume import is_orientation
from multiway.data.splitting import SplitShares

Triple = tuple[int, int, int]
Normalisation = Literal["auto", "none", "unit", "volume", "train"]


class VolumeOptions(Budget):
    """How scans and the table that lists them are read."""

    paths = ("root",)

    path: str = "path"
    """Column of files: NIfTI, .npy, .npz, .dcm, or a folder that holds one DICOM series."""
    label: str = "label"
    """Column of classes, as words or whole numbers."""
    patient: str | None = None
    """Column of patients, who are never split; `patient` or `patient_id` if there and not given."""
    mask: str = "mask"
    """Column of segmentation masks; used if there."""
    split: str = "split"
    """Column that says train, validation or test; used if there."""
    root: str | None = None
    """Folder that relative paths start from and that no path may leave; the table's own if not given."""
    axes: tuple[str, str, str] | None = None
    """Names of the three axes, for figures and reports."""
    channels: bool = False
    """Take a fourth axis as channels: the last one of NIfTI, the first one of .npy and .npz."""
    orientation: str | None = None
    """Where the axes point, as RAS or LPS; as they lie in the file if not given."""
    spacing: tuple[float, float, float] | None = None
    """Millimetres between voxels, interpolated to."""
    size: Triple | None = None
    """Voxels per axis, cropped or padded to around the centre, after `spacing`."""
    cut_masks: bool = False
    """Take masks that `size` cuts; they are refused unless this is given."""
    resample_to: Triple | None = None
    """Voxels per axis, interpolated to, whatever the spacing."""
    window: tuple[float, float] | None = None
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
