"""The task `volumes`: classes of scans."""

from multiway.tasks.volumes.encode import VolumeConfig as VolumeConfig
from multiway.tasks.volumes.estimator import VolumeClassifier as VolumeClassifier
