"""A small convolutional network."""

from multiway.tasks.scans.candidates.volumes.network import Classifier


class SmallCnn(Classifier):
    """A small convolutional network."""

    name, words, cost = "cnn", "small CNN", 2
    architecture = "cnn_volume_classifier"


CANDIDATE = SmallCnn()
