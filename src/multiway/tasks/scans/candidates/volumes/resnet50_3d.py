"""A ResNet of 50 layers."""

from multiway.tasks.scans.candidates.volumes.network import Classifier


class ResNet50(Classifier):
    """A ResNet of 50 layers."""

    name, words, cost = "resnet50_3d", "ResNet-50 3D", 4
    architecture = "resnet50_3d"


CANDIDATE = ResNet50()
