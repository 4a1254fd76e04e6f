"""The task `segment`: a class for every voxel of a volume or pixel of a scene."""

from typing import TYPE_CHECKING

from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.tasks.segmentation.estimator import Segmenter as Segmenter
    from multiway.tasks.segmentation.source import SegmentConfig as SegmentConfig

__getattr__ = lazily(__name__)
