"""Volumes: files of scans to cases, arrays and batches; knows no model."""

from typing import TYPE_CHECKING

from multiway.data.volumes.cases import Cases as Cases
from multiway.data.volumes.checking import check_volumes as check_volumes
from multiway.data.volumes.checking import looks_like_volumes as looks_like_volumes
from multiway.data.volumes.loading import read_cases as read_cases
from multiway.data.volumes.memory import Arrays as Arrays
from multiway.data.volumes.memory import cases_of_arrays as cases_of_arrays
from multiway.data.volumes.nifti import write_nifti as write_nifti
from multiway.data.volumes.options import AugmentOptions as AugmentOptions
from multiway.data.volumes.options import VolumeOptions as VolumeOptions
from multiway.data.volumes.options import VolumeSplit as VolumeSplit
from multiway.data.volumes.preparing import prepare as prepare
from multiway.data.volumes.preparing import to_scan as to_scan
from multiway.data.volumes.reading import read_header as read_header
from multiway.data.volumes.reading import read_volume as read_volume
from multiway.data.volumes.volume import Volume as Volume
from multiway.data.volumes.volume import VolumeHeader as VolumeHeader
from multiway.data.volumes.writing import write_grid as write_grid
from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.data.volumes.augmentation import augment as augment
    from multiway.data.volumes.augmentation import shape_transform as shape_transform
    from multiway.data.volumes.intensity import IntensityScale as IntensityScale
    from multiway.data.volumes.prepared import PreparedVolumes as PreparedVolumes
    from multiway.data.volumes.prepared import VolumeState as VolumeState
    from multiway.data.volumes.prepared import prepare_later as prepare_later
    from multiway.data.volumes.prepared import prepare_volumes as prepare_volumes
    from multiway.data.volumes.store import VolumeBatches as VolumeBatches
    from multiway.data.volumes.store import load_values as load_values

__getattr__ = lazily(
    __name__,
    {
        "multiway.data.volumes.augmentation": ("augment", "shape_transform"),
        "multiway.data.volumes.intensity": ("IntensityScale",),
        "multiway.data.volumes.prepared": ("PreparedVolumes", "VolumeState", "prepare_later", "prepare_volumes"),
        "multiway.data.volumes.store": ("VolumeBatches", "load_values"),
    },
)
