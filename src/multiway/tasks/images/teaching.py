"""What a network of images learns from besides its labels: a finished run, or a pretrained network under a new head.

The head is trained on the training images first. Logits are computed once and kept.
"""

import contextlib
import dataclasses
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from multiway import files
from multiway.config import Config
from multiway.data.datasets import cache_folder
from multiway.data.encoders.pretrained import digest_of_files, find_model, in_one_line, load_network
from multiway.data.samples import Samples
from multiway.errors import ConfigError, Fix, RunError, in_a_line, write_command
from multiway.lazy import load_extra
from multiway.models.baselines import Linear, fit_logistic
from multiway.tasks.images.config import DistillOptions
from multiway.tasks.images.encode import ImageState
from multiway.tasks.run import Run, digest_of, load
from multiway.tasks.target_task import outputs_of

TIMM = "timm:"
"""What the name of a network of timm begins with."""
PATH = re.compile(r"(~|\.{1,2}|runs)?/|([^/]+/){2}")
"""How a name begins that can only be a path: those of Hugging Face are OWNER/NAME."""
FIX = (
    "Give the folder of a run, which is trained first, one that `save_pretrained` wrote, or timm:NAME (",
    Fix("distill.teacher", like="NAME"),
    ").",
)
PREPROCESSING, USUAL_SIDE = "preprocessor_config.json", 224
UNUSED = ("pooler.",)
"""Weights that a file may lack: features are the class token, or the mean of a map."""
AT_ONCE = 64
"""Images that a teacher sees at once."""
LARGEST_SIDE = 1024
"""Pixels of a side of the images of a pretrained network."""
OTHERS = (
    "The teacher {} was trained on other images or another split. If test images of this run were among them, its "
    "scores are too good."
)


class FrozenFeatures(nn.Module):
    """Features of images by a network that is not trained, on images of its size, scaled as it knows them.

    Args:
        network: From `(batch, 3, *sizes)` to `(batch, features)`, or to an output of transformers.
        sizes: Height and width that it was trained on.
        mean: Of each colour, from 0 to 1.
        std: Deviation of each.

    Shape:
        `(batch, 1 or 3, height, width)`, values from 0 to 1, to `(batch, features)`.
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self, network: Callable[..., object], sizes: tuple[int, int], mean: Sequence[float], std: Sequence[float]
    ) -> None:
        super().__init__()
        self.network, self.sizes = network, sizes
        for name, values in (("mean", mean), ("std", std)):
            self.register_buffer(name, torch.tensor(list(values))[:, None, None])

    def forward(self, x: Tensor) -> Tensor:
        """Bring images to the network's size and scale, and apply it."""
        coloured = x.expand(-1, 3, -1, -1)
        resized = F.interpolate(coloured, self.sizes, mode="bilinear", antialias=True)
        output = self.network((resized - self.mean) / self.std)
        hidden = getattr(output, "last_hidden_state", output)
        assert isinstance(hidden, Tensor)
        if hidden.ndim == 4:
            return hidden.mean((2, 3))  # the mean of a map
        return hidden[:, 0] if hidden.ndim == 3 else hidden  # the token of the class


class DistillFacts(Config):
    """What is kept of the teaching."""

    teacher: str
    logits_sha256: str
    """Of the teacher's logits of the training samples."""
    train_acc: float
    validation_acc: float
    """Of the teacher, on what the student learns from and is chosen by."""


def build_teacher(run: Run, options: DistillOptions) -> Tensor:
    """The teacher's logits of the training images `(images, classes)`; the facts say what is known of it."""
    parts = {name: run.prepared.part(name) for name in ("train", "validation")}
    teacher = find_teacher(options.teacher, run.state)
    key = hashlib.sha256(f"{teacher.digest} {run.digest}".encode()).hexdigest()
    folder = Path(options.cache).expanduser() if options.cache else cache_folder() / "teachers"
    path, logits = folder / f"{key[:32]}.safetensors", dict[str, Tensor]()
    with contextlib.suppress(RunError):  # not there yet, or damaged: computed anew
        logits = files.read_tensors(path)
    if {name: len(values) for name, values in logits.items()} != {name: len(part) for name, part in parts.items()}:
        logits = dict(zip(parts, teacher.logits(*parts.values()), strict=True))
        files.make_folder(folder)
        files.write_tensors(path, logits)
    right = {name: logits[name].argmax(1) == torch.from_numpy(part.truth) for name, part in parts.items()}
    run.facts["distilled"] = {
        "teacher": options.teacher,
        "logits_sha256": hashlib.sha256(logits["train"].numpy().tobytes()).hexdigest(),
        **{f"{name}_acc": float(hits.double().mean()) for name, hits in right.items()},
    }
    if teacher.data_sha256 not in (None, run.digest):
        run.facts["notes"] = [*run.facts["notes"], OTHERS.format(options.teacher)]
    return logits["train"]


class RunTeacher:
    """The network of a finished run on images of the same classes and sizes.

    digest: Hash of all that its answers depend on besides the images.
    data_sha256: Hash of the images and the split that it was trained on.
    """

    def __init__(self, path: Path, state: ImageState) -> None:
        self.run = load(path)
        if self.run.task.name != "images":
            other = self.run.task.name
            raise ConfigError(f"distill.teacher: {path} is a run of the task {other}, not of images. ", *FIX)
        for name in ("classes", "channels", "sizes"):
            expected, got = getattr(state, name), getattr(self.run.state, name)
            if expected != got:
                raise ConfigError(f"distill.teacher: {path} was trained on other {name}. Got {got}, not {expected}.")
        assert self.run.folder is not None
        self.data_sha256 = self.run.digest
        self.digest = hashlib.sha256(json.dumps(self.run.folder.verify()["sha256"]).encode()).hexdigest()

    def logits(self, training: Samples[Tensor], validation: Samples[Tensor]) -> tuple[Tensor, Tensor]:
        """What the run says of both, scaled as in its own training."""
        parts = (dataclasses.replace(part, decode=self.run.state.decode) for part in (training, validation))
        first, second = (outputs_of(self.run.model, part, AT_ONCE).float() for part in parts)
        return first, second


class FrozenTeacher:
    """Features of a pretrained network under a logistic regression on the training images.

    Differs from the paper's code, whose teacher keeps a head that was drawn at random.
    """

    data_sha256: None = None
    """Nobody knows what it was trained on."""

    def __init__(self, features: FrozenFeatures, digest: str) -> None:
        self.features, self.digest = features.eval(), digest

    def logits(self, training: Samples[Tensor], validation: Samples[Tensor]) -> tuple[Tensor, Tensor]:
        """Fit the head; its penalty is that of the lowest validation loss."""
        parts = (dataclasses.replace(part, decode=_shares) for part in (training, validation))
        with in_one_line("distill.teacher: its network does not take images"):
            x, held = (outputs_of(self.features, part, AT_ONCE).float() for part in parts)
        if not (x.isfinite().all() and held.isfinite().all()):
            raise ConfigError("distill.teacher: its features are not finite. Its weights or settings may be damaged.")
        head = Linear(x.shape[1], len(training.classes or ()))
        labels, held_labels = (part.target_tensor for part in (training, validation))
        fit_logistic(head, x, labels, held, held_labels)
        return head(x).float(), head(held).float()


def find_teacher(name: str, state: ImageState) -> RunTeacher | FrozenTeacher:
    """The teacher of that name: a run's folder, timm:NAME, or a model of Hugging Face by folder or name."""
    if name.startswith(TIMM):
        return _load_timm(name.removeprefix(TIMM))
    if (Path(name) / "config.yaml").is_file():
        return RunTeacher(Path(name), state)
    if PATH.match(name) and not Path(name).expanduser().is_dir():
        raise ConfigError(
            f"distill.teacher: {name} is no folder. Train the teacher first "
            f"({write_command('train', 'images', out=name)}), "
            "or give a model of Hugging Face by name, or timm:NAME (",
            Fix("distill.teacher", like="NAME"),
            ").",
        )
    return _load_hugging_face(name)


def _load_timm(name: str) -> FrozenTeacher:
    timm = load_extra("timm", f"the teacher {TIMM}{name}", "teachers")
    try:
        network = timm.create_model(name, pretrained=True, num_classes=0)
        known = timm.data.resolve_model_data_config(network)
    except Exception as error:  # each of its models raises its own
        reason = in_a_line(error)
        raise ConfigError(f"distill.teacher: {TIMM}{name} cannot be loaded: {reason}.") from None
    features = FrozenFeatures(network, tuple(known["input_size"][1:]), known["mean"], known["std"])
    state = sorted(features.state_dict().items())
    return FrozenTeacher(features, digest_of(part for key, value in state for part in (key, value.cpu().numpy())))


def _load_hugging_face(name: str) -> FrozenTeacher:
    folder = find_model(name, "teacher", FIX)
    network = load_network(folder, f"the teacher {name}", UNUSED)
    if network.main_input_name != "pixel_values":
        kind = type(network).__name__
        raise ConfigError(
            f"distill.teacher: {name} is a {kind}, which reads {network.main_input_name}, no images. ", *FIX
        )
    with in_one_line(f"distill.teacher: {folder / PREPROCESSING} cannot be read"):
        features = FrozenFeatures(network, *_read_preprocessing(folder, network))
    known = ("config.json", PREPROCESSING)
    paths = [path for path in folder.glob("*") if path.suffix == ".safetensors" or path.name in known]
    return FrozenTeacher(features, digest_of_files(sorted(paths)))


def _read_preprocessing(folder: Path, network: Any) -> tuple[tuple[int, int], list[float], list[float]]:
    """Height and width, in any of the forms that they have been written in, mean and deviation of colours."""
    path = folder / PREPROCESSING
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    side = known.get("size", getattr(network.config, "image_size", USUAL_SIDE))
    if isinstance(side, dict):
        edge = side.get("shortest_edge", USUAL_SIDE)
        side = (side.get("height", edge), side.get("width", edge))
    height, width = map(int, side if isinstance(side, list | tuple) else (side, side))
    if not (0 < height <= LARGEST_SIDE and 0 < width <= LARGEST_SIDE):
        raise ValueError(f"a side has 1 to {LARGEST_SIDE:,} pixels; got {height} x {width}")
    return (height, width), known.get("image_mean", [0.5] * 3), known.get("image_std", [0.5] * 3)


def _shares(images: Tensor) -> Tensor:
    """Bytes `(images, height, width, channels)` as values from 0 to 1, channels first."""
    return images.float().div_(255).permute(0, 3, 1, 2)
