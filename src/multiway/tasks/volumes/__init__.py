"""The task `volumes`: classes of scans."""

from multiway.tasks.volumes.config import VolumeConfig as VolumeConfig
from multiway.tasks.volumes.estimator import VolumeClassifier as VolumeClassifier
from multiway.tasks.volumes.run import VolumeRun as VolumeRun
from multiway.tasks.volumes.run import load as load
from multiway.tasks.volumes.run import resume as resume
from multiway.tasks.volumes.run import start as start
