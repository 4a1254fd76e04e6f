"""A ResNet of 18 layers."""

from multiway.tasks.scans.candidates.volumes.network import Classifier


class ResNet18(Classifier):
    """A ResNet of 18 layers."""

    name, words, cost = "resnet18_3d", "ResNet-18 3D", 3
    architecture = "resnet18_3d"


CANDIDATE = ResNet18()
