"""The task `volumes`: classes of scans."""

from multiway.tasks.volumes.config import VolumeConfig as VolumeConfig
from multiway.tasks.volumes.estimator import VolumeClassifier as VolumeClassifier
