"""Classes of images."""

from multiway.tasks.images.config import ImageConfig as ImageConfig
from multiway.tasks.images.estimator import ImageClassifier as ImageClassifier
