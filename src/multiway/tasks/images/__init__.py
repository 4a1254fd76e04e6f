"""Classes of images."""

from typing import TYPE_CHECKING

from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.tasks.images.config import ImageConfig as ImageConfig
    from multiway.tasks.images.task import ImageClassifier as ImageClassifier

__getattr__ = lazily(__name__)
