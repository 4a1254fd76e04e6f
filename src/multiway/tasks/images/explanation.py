"""What a classifier of images went by: gradients of the class that it named, pixel by pixel."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from markupsafe import Markup
from numpy.typing import NDArray

from multiway.data.images import PreparedImages
from multiway.errors import ConfigError, MultiwayError, closest
from multiway.explain.gradients import gradients_within
from multiway.explain.planes import overlay
from multiway.extras import load_extra
from multiway.files import make_folder, write_with
from multiway.metrics.classes import predicted_classes
from multiway.report.png import colour_png, grey_png, palette_png
from multiway.tasks.answers import Answer
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run

ERRORS, RIGHT = "Most confident errors", "Named correctly, most confident of each class"
SHOWN = 6
TOLERANCE, MOST_POINTS, BATCH = 0.05, 513, 64
"""Share of the logit's change that the gradients' sum may miss, points at most, and points at once."""
LEVELS = 15
SIDE = 256
"""Pixels that a picture has along its longer side at least."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Seen:
    """One image.

    pixels: `(height, width, channels)` bytes.
    gradients: Integrated gradients of the named class, summed over channels, `(height, width)`.
    sums: Sum of the gradients, and the change of the logit from mid-grey, which it should equal.
    """

    name: str
    pixels: NDArray[np.uint8]
    gradients: NDArray[np.float32]
    sums: tuple[float, float]
    label: str
    predicted: str
    probability: float

    @property
    def is_right(self) -> bool:
        """Whether it was named correctly."""
        return self.label == self.predicted


def telling(run: Run) -> list[tuple[str, str]]:
    """The most confident errors among test images, then the surest right one of each class: headings and names."""
    frame = run.tables["predictions"]
    frame = frame[(frame["split"] == "test") & (frame["model"] == OURS)]
    frame = frame.assign(sure=frame[[f"p_{name}" for name in run.state.classes]].max(axis=1))
    frame = frame.sort_values("sure", ascending=False, kind="stable")
    wrong, right = (frame[(frame["label"] == frame["predicted"]) == each] for each in (False, True))
    chosen = [(ERRORS, str(name)) for name in wrong["image"][:SHOWN]]
    return chosen + [(RIGHT, str(name)) for name in right.drop_duplicates("label")["image"][:SHOWN]]


def seen(run: Run, names: Sequence[str]) -> list[Seen]:
    """These test images as the network saw them; none where the data are gone."""
    try:
        return explained(run, names)
    except (MultiwayError, OSError):
        return []


def explained(run: Run, names: Sequence[str]) -> list[Seen]:
    """Explain images of the run's data by their names.

    Raises:
        ConfigError: The run was fitted on arrays in memory, or a name is unknown.
        DataError: The data are gone, or no longer sound.
    """
    if run.config.data is None:
        raise ConfigError("this run was fitted on arrays in memory, which are gone. Train on files to explain it.")
    prepared = run.task.prepare(run.config, run.task.locate(run.config.data), run.state)
    places = {str(name): place for place, name in enumerate(prepared.samples.names["image"])}
    unknown = [name for name in names if name not in places]
    if unknown:
        raise ConfigError(f"{prepared.source} has no image {unknown[0]!r}{closest(unknown[0], places)}")
    return [explain_image(run, prepared, places[name]) for name in names]


def explain_image(run: Run, prepared: PreparedImages, place: int) -> Seen:
    """Integrated gradients of the class that the network names, along the way from the values' centre."""
    samples, model = prepared.samples, run.model.eval()
    x = samples.gather(torch.tensor([place]))["inputs"]
    with torch.no_grad():
        shares = model(x).double().softmax(1).numpy()
    named = int(predicted_classes(shares)[0])
    found = gradients_within(model, x, torch.tensor([named]), tolerance=TOLERANCE, steps=MOST_POINTS, batch_size=BATCH)
    change = float(found.change[0])
    return Seen(
        name=str(samples.names["image"][place]), pixels=samples.inputs[place].numpy(),
        gradients=found.values[0].sum(0).float().numpy(), sums=(change + float(found.gap[0]), change),
        label=samples.classes[samples.truth[place]], predicted=samples.classes[named],
        probability=float(shares[0, named]),
    )  # fmt: skip


def layers_of(item: Seen) -> list[Markup]:
    """The image, and its gradients over it."""
    pixels = item.pixels
    below = grey_png(pixels[..., 0]) if pixels.shape[2] == 1 else colour_png(pixels)
    return [below, palette_png(*overlay("gradients", item.gradients, LEVELS))]


def write_explanations(items: Sequence[Seen], folder: Path) -> Answer:
    """Write each image beside its gradients as `NAME.png`, and the gradients of all as `gradients.npz`."""
    make_folder(folder)
    paths = [folder / f"{place:03d}-{Path(item.name).stem}.png" for place, item in enumerate(items)]
    for path, item in zip(paths, items, strict=True):
        _write_picture(path, item)
    arrays = {path.stem: item.gradients for path, item in zip(paths, items, strict=True)}
    paths.append(folder / "gradients.npz")
    write_with(paths[-1], lambda temporary: _write_arrays(temporary, arrays))
    return Answer(files=paths, notes=[_sentence(item) for item in items])


def _write_picture(path: Path, item: Seen) -> None:
    """The image, and the same under its gradients, side by side and enlarged."""
    library = load_extra("PIL.Image", "drawing images", "images")
    places, colours = overlay("gradients", item.gradients, LEVELS)
    pixels = np.broadcast_to(item.pixels, (*item.pixels.shape[:2], 3)).astype(np.float32)
    laid = colours[places].astype(np.float32)
    share = laid[..., 3:] / 255
    both = np.concatenate([pixels, pixels.mean(2, keepdims=True) * (1 - share) + laid[..., :3] * share], axis=1)
    times = max(1, SIDE // max(item.pixels.shape[:2]))
    picture = library.fromarray(both.round().astype(np.uint8).repeat(times, 0).repeat(times, 1))
    write_with(path, lambda temporary: picture.save(temporary, format="png"))


def _write_arrays(path: Path, arrays: dict[str, NDArray[np.float32]]) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def _sentence(item: Seen) -> str:
    total, change = item.sums
    return (
        f"{item.name}: is {item.label}, named {item.predicted} with {item.probability:.0%}; the gradients sum to "
        f"{total:+.3f}, the logit changes by {change:+.3f}"
    )
