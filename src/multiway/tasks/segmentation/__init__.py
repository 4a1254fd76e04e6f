"""The task `segment`: a class for every voxel of a volume or pixel of a scene."""

from multiway.tasks.segmentation.estimator import Segmenter as Segmenter
from multiway.tasks.segmentation.source import SegmentConfig as SegmentConfig
