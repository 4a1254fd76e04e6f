"""Training images changed at random, each anew whenever it is gathered."""

from torch import Tensor

from multiway.data.images.options import ImageAugmentation
from multiway.data.labelled import Labelled
from multiway.data.volumes.augmentation import augment


class Augmented:
    """Samples whose inputs are changed; draws are from torch's global generator, which a saved state keeps."""

    def __init__(self, samples: Labelled, options: ImageAugmentation) -> None:
        self.samples, self.options = samples, options

    def __len__(self) -> int:
        return len(self.samples)

    def gather(self, index: Tensor) -> dict[str, Tensor]:
        """Inputs, changed, and classes of some samples."""
        batch = self.samples.gather(index)
        return batch | {"inputs": augment(batch["inputs"], self.options)}
