"""What a volume classifier looked at and what made its answer, case by case, on the volume's own axes."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.volumes import Cases, Volume
from multiway.errors import ConfigError, closest
from multiway.explain import (
    DeletionCurves,
    ModeMap,
    average_maps,
    deletion_curves,
    integrated_gradients,
    mode_maps,
    rollout_to_voxels,
    slice_labels,
)
from multiway.tasks.devices import device_of
from multiway.tasks.run import Run
from multiway.tasks.volumes.evaluation import evaluated, probabilities, to_input
from multiway.tasks.volumes.reload import COSTLY_VOXELS

Floats = NDArray[np.float32]
AVERAGED_CASES = 64
USUAL_BLOCK = 4
STEPS, FEW_STEPS = 96, 48
"""Points of integrated gradients, and of costly volumes."""
MAX_VOXELS = 2**21
"""Voxels that go through the network at once."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class CaseExplanation:
    """One case.

    volume: As the network saw it, before intensities are normalised.
    probabilities: `(classes,)`.
    maps: Attention per block and mode; empty where the network has none.
    attention: Rollout to voxels, 1 is an even look, `(*sizes)`.
    gradients: Integrated gradients of the predicted class's logit, summed over channels, `(*sizes)`.
    sums: Sum of the gradients, and the change of the logit from an empty volume, which it should equal.
    deletion: Probability of the predicted class as blocks are hidden.
    """

    name: str
    volume: Volume
    probabilities: NDArray[np.float64]
    label: int | None = None
    patient: str | None = None
    maps: list[ModeMap] = dataclasses.field(default_factory=list)
    attention: Floats | None = None
    gradients: Floats | None = None
    sums: tuple[float, float] | None = None
    deletion: DeletionCurves | None = None

    @property
    def predicted(self) -> int:
        """Class of the highest probability."""
        return int(self.probabilities.argmax())


def explain_case(
    run: Run, cases: Cases, index: int, *, gradients: bool = True, deletion: bool = True, seed: int = 0
) -> CaseExplanation:
    """Explain one case; one volume is in memory at a time.

    Gradients start from, and the deletion test hides voxels as, the number 0 after normalisation: the mean of the
    training voxels under `train`, the low end of the window or byte 0 under `unit`.

    Args:
        run: The fitted classifier.
        cases: Where the case is.
        index: Which one.
        gradients: Compute integrated gradients beside the attention.
        deletion: Run the deletion test.
        seed: Of the random orders of the deletion test.

    Raises:
        DataError: The scan is not sound, or of another size than the run was trained on.
        ConfigError: Gradients are wanted and captum is not installed.
    """
    volume = cases.prepared(index)
    x = network_input(run, volume)
    found = probabilities(
        run.model.eval(), to_input(volume, run.state.scale, run.state.channels, run.state.sizes), run.config
    )[0].numpy()
    target = int(found.argmax())
    maps, attention = _attention(run, x, volume, cases.axes, cases.names[index])
    values, sums = _gradients(run, x, target) if gradients else (None, None)
    marked = {name: item for name, item in (("attention", attention), ("gradients", values)) if item is not None}
    return CaseExplanation(
        name=cases.names[index],
        volume=volume,
        probabilities=found,
        label=None if cases.labels is None else int(cases.labels[index]),
        patient=None if cases.patients is None else cases.patients[index],
        maps=maps,
        attention=None if attention is None else attention.numpy(),
        gradients=None if values is None else values.numpy(),
        sums=sums,
        deletion=_deletion(run, x, target, marked, seed) if deletion and marked else None,
    )


def explain_cases(run: Run, cases: Cases, indices: Sequence[int], **options: Any) -> Iterator[CaseExplanation]:
    """Explain cases one after another, so that memory holds one."""
    for index in indices:
        yield explain_case(run, cases, int(index), **options)


def average_attention(run: Run, cases: Cases, indices: Sequence[int], sample: str = "") -> list[ModeMap]:
    """Attention averaged over cases; millimetres are left out of its labels where spacings differ."""
    if not has_attention(run) or not len(indices):
        return []
    groups, spacings = [], []
    for index in indices:
        volume = cases.prepared(int(index))
        spacings.append(volume.spacing)
        maps = _maps_of(run, network_input(run, volume))
        groups.append([[mode.cpu() for mode in block] for block in maps])
    spacing = spacings[0] if all(item == spacings[0] for item in spacings) else None
    labels = _labels(run, volume.sizes, spacing)
    named = [mode_maps(maps, cases.axes, labels, ordered=cases.axes) for maps in groups]
    return average_maps(named, sample=sample)


def has_attention(run: Run) -> bool:
    """Whether the network has a map per mode."""
    kind = getattr(getattr(run.model, "config", None), "attention", None)
    return hasattr(run.model, "forward_with_maps") and kind in (None, "kronecker")


def network_input(run: Run, volume: Volume) -> Tensor:
    """The volume as the network takes it in evaluation, `(1, channels, *sizes)`.

    Raises:
        DataError: It is of another size or has other channels than those the run was trained on.
    """
    x = to_input(volume, run.state.scale, run.state.channels, run.state.sizes).to(device_of(run.model))
    return evaluated(x, run.config)


def named_cases(cases: Cases, names: Sequence[str]) -> list[int]:
    """Places of cases by name.

    Raises:
        ConfigError: A name is unknown.
    """
    places = {name: index for index, name in enumerate(cases.names)}
    for name in names:
        if name not in places:
            raise ConfigError(f"{cases.source} has no case {name!r}{closest(name, places)}")
    return [places[name] for name in names]


def _attention(
    run: Run, x: Tensor, volume: Volume, axes: Sequence[str], name: str
) -> tuple[list[ModeMap], Tensor | None]:
    if not has_attention(run):
        return [], None
    maps = _maps_of(run, x)
    labels = _labels(run, volume.sizes, volume.spacing)
    named = mode_maps(maps, axes, labels, ordered=axes, sample=name)
    if not maps:
        return named, None
    combine = getattr(getattr(run.model, "config", None), "combine", "product")
    return named, rollout_to_voxels(maps, volume.sizes, combine=combine)[0]


@torch.no_grad()
def _maps_of(run: Run, x: Tensor) -> list[list[Tensor]]:
    forward_with_maps: Any = run.model.eval().forward_with_maps
    found: list[list[Tensor]] = forward_with_maps(x)[1]
    return found


def _labels(run: Run, sizes: Sequence[int], spacing: Sequence[float] | None) -> list[tuple[str, ...]]:
    steps = spacing or (None,) * len(sizes)
    return [slice_labels(size, block_of(run), step) for size, step in zip(sizes, steps, strict=True)]


def block_of(run: Run) -> int:
    """Voxels per token, which is also what the deletion test hides at once."""
    return int(getattr(run.model, "stride", USUAL_BLOCK))


def _gradients(run: Run, x: Tensor, target: int) -> tuple[Tensor, tuple[float, float]]:
    label = torch.tensor([target], device=x.device)
    steps = FEW_STEPS if x[0].numel() > COSTLY_VOXELS else STEPS
    found = integrated_gradients(run.model, x, label, steps=steps, batch_size=_batch(x))
    change = float(found.change[0])
    return found.values[0].sum(0).cpu().float(), (change + float(found.gap[0]), change)


def _deletion(run: Run, x: Tensor, target: int, importance: dict[str, Tensor], seed: int) -> DeletionCurves:
    def score(volumes: Tensor) -> Tensor:
        found: Tensor = run.model(volumes).double().softmax(-1)[:, target]
        return found

    return deletion_curves(score, x[0], importance, block=block_of(run), seed=seed, batch_size=_batch(x))


def _batch(x: Tensor) -> int:
    return max(1, min(16, MAX_VOXELS // x[0].numel()))
