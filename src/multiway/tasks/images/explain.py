"""What a classifier of images went by, image by image of its test."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.findings import quote
from multiway.data.samples import Samples
from multiway.data.targets import JOINED, join_labels
from multiway.errors import Fix
from multiway.explain import occlude_image
from multiway.explain.gradients import ImageExplanation, explain_image, save_image
from multiway.files import atomic_folder, write_arrays
from multiway.metrics.classes import predicted_classes
from multiway.tasks.answers import Answer, positions_of
from multiway.tasks.lifecycle import reread
from multiway.tasks.protocol import NETWORK
from multiway.tasks.run import Run
from multiway.tasks.target_task import answer_samples
from multiway.tasks.targets import answers_of, sentence_on, telling
from multiway.training.processes import device_of

SHOWN = 6
METHODS = {
    "gradients": "orange speaks for the named class, blue against it (integrated gradients)",
    "occlusion": "orange: hiding this part makes the named class less likely; blue: more likely",
}
"""What the colours of attributions say, by their method."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Seen(ImageExplanation):
    """One image of the data.

    pixels: `(height, width, channels)` bytes.
    """

    name: str
    pixels: NDArray[np.uint8]
    label: str
    predicted: str
    probability: float

    @property
    def is_right(self) -> bool:
        """Whether it was named correctly."""
        return self.predicted in self.label.split(JOINED)

    @property
    def sentence(self) -> str:
        """What it is, what it was named, and how near gradients come to the change of the logit."""
        return sentence_on(self.name, self.label, self.predicted, self.probability, self.sums)


def telling_images(run: Run) -> list[tuple[str, str]]:
    """Headings and names of the test images that tell most; see `targets.telling`."""
    return telling(
        answers_of(run.tables, run.answer.name), run.state.classes, "image", SHOWN, SHOWN, several=run.state.several
    )


def explain_named(run: Run, names: Sequence[str]) -> list[Seen]:
    """Explain images of the run's data by their names."""
    images = reread(run).encoded
    known = list(map(str, images.names["image"]))
    fix = (" Name images of the data as it does (", Fix("images", quote(known[0])), ").")
    positions = positions_of(names, known, f"{images.source} has no image", *fix)
    items = []
    for position in positions:
        one = images.take(np.array([position]))
        shares, explanation = explain_one(run, one)
        answer = _likeliest(run, shares)
        label = join_labels(one.truth, run.state.classes)[0] if run.state.several else run.state.classes[one.truth[0]]
        item = Seen(
            name=known[position],
            pixels=one.inputs[0].numpy(),
            label=label,
            predicted=run.state.classes[answer],
            probability=float(shares[0, answer]),
            **vars(explanation),
        )
        items.append(item)
    return items


def _likeliest(run: Run, shares: NDArray[np.float64]) -> int:
    """The class that one image is named, or the likeliest of several labels."""
    return int(shares[0].argmax() if run.state.several else predicted_classes(shares)[0])


def method_of(run: Run) -> str:
    """How the answer of a run is explained: by gradients of the network, else by occlusion."""
    return "gradients" if run.answer.name == NETWORK else "occlusion"


def explain_one(run: Run, one: Samples[Tensor]) -> tuple[NDArray[np.float64], ImageExplanation]:
    """Probabilities of one image, and what made them: gradients of the network, else occlusion by patches."""
    shares = answer_samples(run, one)
    x = one.gather(torch.tensor([0]))["inputs"]
    if method_of(run) == "gradients":
        return shares, explain_image(run.model, x.to(device_of(run.model)), _likeliest(run, shares))
    falls = occlude_image(lambda images: answer_samples(run, Samples(inputs=images, source=one.source)), x[0])
    return shares, ImageExplanation(method="occlusion", attribution=falls.astype(np.float32))


def write_explanations(items: Sequence[Seen], folder: Path) -> Answer:
    """Write each image and its attribution as `NAME.png`, and those of all as `gradients.npz` or `occlusion.npz`."""
    with atomic_folder(folder, replace=True) as made:
        paths = [made / f"{number:03d}-{Path(item.name).stem}.png" for number, item in enumerate(items)]
        for path, item in zip(paths, items, strict=True):
            save_image(path, item.pixels, item.attribution)
        arrays = {path.stem: item.attribution for path, item in zip(paths, items, strict=True)}
        paths.append(made / f"{items[0].method}.npz")
        write_arrays(paths[-1], arrays)
    return Answer(files=paths, notes=[item.sentence for item in items]).within(folder)
