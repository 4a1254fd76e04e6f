"""The tasks on scans: `volumes`, a class for each; `segment`, a class for every voxel, or every pixel of a scene."""

from multiway.tasks.scans.config import SegmentConfig as SegmentConfig
from multiway.tasks.scans.config import VolumeConfig as VolumeConfig
from multiway.tasks.scans.estimator import Segmenter as Segmenter
from multiway.tasks.scans.estimator import VolumeClassifier as VolumeClassifier
