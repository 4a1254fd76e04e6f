"""Students of a teacher: its logits of the training images, computed once and kept, and the loss with them."""

import contextlib
import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn

from multiway import files
from multiway.config import Config
from multiway.data.datasets import cache_folder
from multiway.data.labelled import Labelled
from multiway.errors import RunError
from multiway.tasks.class_task import ClassFacts, ClassTask
from multiway.tasks.classes import class_weights
from multiway.tasks.protocol import Row
from multiway.tasks.run import Run
from multiway.tasks.split_task import ConfigT, StateT
from multiway.tasks.teachers import Teacher, find_teacher
from multiway.training import Objective, Source
from multiway.training.distillation import DistillationLoss, Taught
from multiway.training.tensors import read_tensors
from multiway.training.watching import accuracy_of

OTHERS = (
    "The teacher {} was trained on other images or another split. If test images of this run were among them, its "
    "scores are too good."
)


class DistillOptions(Config):
    """Whom a network learns from, beside its labels."""

    teacher: str = Field(min_length=1)
    """Folder of a finished run on the same images, folder or name of a model of Hugging Face, or timm:NAME."""
    temperature: float = Field(3.0, gt=0)
    """What logits of both are divided by; the higher, the more unlikely classes count."""
    alpha: float = Field(0.5, ge=0, le=1)
    """Share of the loss that is the teacher's; the rest is the labels'."""
    cache: str | None = None
    """Folder that logits are kept in; one of the cache of downloads if not given."""


class DistillFacts(Config):
    """What is kept of the teaching."""

    teacher: str
    logits_sha256: str
    """Of the teacher's logits of the training samples."""
    train_acc: float
    validation_acc: float
    """Of the teacher, on what the student learns from and is chosen by."""


class TaughtFacts(ClassFacts):
    """Of samples with classes, and of the teacher where there was one."""

    distilled: DistillFacts | None = None


class TaughtTask(ClassTask[ConfigT, StateT]):
    """Classes of samples, learnt from a teacher too where the config's `distill` names one."""

    facts = TaughtFacts

    def settle(self, config: ConfigT, state: StateT, *, progress: bool = False) -> ConfigT:
        """Look for the teacher before anything is written."""
        options = _options(config)
        if options is not None:
            find_teacher(options.teacher, state)
        return config

    def objective(self, run: Run, training: Labelled) -> Objective:
        """Cross-entropy, with the teacher beside it."""
        options, how = _options(run.config), run.config.training
        if options is None:
            return super().objective(run, training)
        weights = class_weights(training.truth, len(training.classes), how)
        given = {"temperature": options.temperature, "alpha": options.alpha}
        return DistillationLoss(**given, weights=weights, smoothing=how.label_smoothing)

    def taught(self, run: Run, source: Source) -> Source:
        """The training samples of a run with the teacher's logits; the facts say what is known of it.

        source: The same samples in the same order, changed at random or not; the teacher sees them as they are.
        """
        options = _options(run.config)
        if options is None:
            return source
        parts = {name: run.prepared.part(name) for name in ("train", "validation")}
        teacher = find_teacher(options.teacher, run.state)
        logits = _kept(_place(options, teacher, run), teacher, parts)
        hashed = hashlib.sha256(logits["train"].numpy().tobytes()).hexdigest()
        scores = {f"{name}_acc": _accuracy(logits[name], part.truth) for name, part in parts.items()}
        run.facts["distilled"] = {"teacher": options.teacher, "logits_sha256": hashed, **scores}
        if teacher.data_sha256 not in (None, run.digest):
            run.facts["notes"] = [*run.facts["notes"], OTHERS.format(options.teacher)]
        return Taught(source, logits["train"])

    def watch(self, run: Run) -> Callable[[nn.Module], dict[str, list[float]]] | None:
        """Accuracy of a student on the validation samples."""
        if _options(run.config) is None:
            return None
        return functools.partial(accuracy_of, samples=run.prepared.part("validation"))

    def cell_facts(self, runs: Sequence[Run]) -> Row:
        """How many test samples there are, and the teacher."""
        found = runs[0].facts.get("distilled")
        return {**super().cell_facts(runs), **({"distilled": found} if found else {})}


def _options(config: Any) -> DistillOptions | None:
    found: DistillOptions | None = config.distill
    return found


def _place(options: DistillOptions, teacher: Teacher, run: Run) -> Path:
    """Where the logits of this teacher on the data of this run lie."""
    key = hashlib.sha256(f"{teacher.digest} {run.digest}".encode()).hexdigest()
    folder = Path(options.cache).expanduser() if options.cache else cache_folder() / "teachers"
    return folder / f"{key[:32]}.safetensors"


def _kept(path: Path, teacher: Teacher, parts: Mapping[str, Labelled]) -> dict[str, Tensor]:
    """Logits by split that lie there, or else computed and left there."""
    with contextlib.suppress(RunError):  # not there yet, or damaged: computed anew
        found = read_tensors(path)
        if {name: len(each) for name, each in found.items()} == {name: len(part) for name, part in parts.items()}:
            return found
    logits = dict(zip(parts, teacher.logits(*parts.values()), strict=True))
    files.make_folder(path.parent)
    files.write_tensors(path, logits)
    return logits


def _accuracy(logits: Tensor, labels: NDArray[Any]) -> float:
    return float((logits.argmax(1) == torch.from_numpy(labels)).double().mean())
