"""The task `volumes`: classes of scans."""

from typing import TYPE_CHECKING

from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.tasks.volumes.encode import VolumeConfig as VolumeConfig
    from multiway.tasks.volumes.estimator import VolumeClassifier as VolumeClassifier

__getattr__ = lazily(__name__)
