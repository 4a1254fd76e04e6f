"""Classes of images."""

from multiway.tasks.images.task import ImageClassifier as ImageClassifier
from multiway.tasks.images.task import ImageConfig as ImageConfig
