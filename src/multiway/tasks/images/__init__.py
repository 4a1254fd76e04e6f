"""Classes of images."""

from multiway.tasks.images.config import ImageConfig as ImageConfig
from multiway.tasks.images.task import ImageClassifier as ImageClassifier
