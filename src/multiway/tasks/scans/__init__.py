"""The tasks on scans: `volumes`, a class for each; `segment`, a class for every voxel, or every pixel of a scene."""

from typing import TYPE_CHECKING

from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.tasks.scans.config import SegmentConfig as SegmentConfig
    from multiway.tasks.scans.config import VolumeConfig as VolumeConfig
    from multiway.tasks.scans.estimator import Segmenter as Segmenter
    from multiway.tasks.scans.estimator import VolumeClassifier as VolumeClassifier
    from multiway.tasks.scans.estimator import VolumeRegressor as VolumeRegressor

__getattr__ = lazily(__name__)
