"""What a volume classifier looked at and what made its answer, case by case, on the volume's own axes."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from multiway.data.sources.scans.cases import Cases, Scans
from multiway.data.sources.scans.nifti import write_nifti
from multiway.data.sources.scans.preparing import to_scan
from multiway.data.sources.scans.volume import Volume
from multiway.explain import (
    ModeMap,
    VolumeExplanation,
    average_maps,
    deletion_line,
    explain_volume,
    has_maps,
    maps_of,
    save_maps,
    save_planes,
    strongest,
    volume_maps,
)
from multiway.files import make_folder
from multiway.tasks.answers import Answer, positions_of
from multiway.tasks.lifecycle import data_of
from multiway.tasks.run import Run
from multiway.tasks.targets import answers_of, sentence_on, telling
from multiway.tasks.volumes.network import evaluated, scan_probabilities
from multiway.training.processes import device_of

STEPS, FEW_STEPS, COSTLY_VOXELS = 96, 48, 48**3
"""Points of integrated gradients, and those of volumes with more voxels."""
SHOWN_CASES, SHOWN_RIGHT = 8, 4
SWIFT_VOXELS = 32**3
"""Of volumes larger than this a report explains fewer cases, at fewer points: nobody waits an hour for a page."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class CaseExplanation(VolumeExplanation):
    """One case.

    volume: As the network saw it, before intensities are normalised.
    probabilities: `(classes,)`.
    """

    name: str
    volume: Volume
    probabilities: NDArray[np.float64]
    label: int | None = None
    patient: str | None = None

    @property
    def predicted(self) -> int:
        """Class of the highest probability."""
        return int(self.probabilities.argmax())

    @property
    def picture(self) -> NDArray[np.float32]:
        """What is drawn of the volume: its only channel, or the mean of several."""
        return np.asarray(self.volume.values.mean(axis=0, dtype=np.float32))


def explain_case(run: Run, cases: Cases, index: int, **options: Any) -> CaseExplanation:
    """Explain one case; one volume is in memory at a time.

    Gradients start from, and the deletion test hides voxels as, the number 0 after normalisation: the mean of the
    training voxels under `train`, the low end of the window or byte 0 under `unit`.

    `options` are `gradients`, `deletion`, `steps`, `tolerance` and `seed` of `multiway.explain.explain_volume`.
    """
    volume, name = cases.inputs.prepared(index), cases.names["case"][index]
    shares = scan_probabilities(run.model.eval(), run.state.normalised(volume), run.config)[0].numpy()
    x = network_input(run, volume)
    options["steps"] = options.get("steps") or (FEW_STEPS if x[0].numel() > COSTLY_VOXELS else STEPS)
    explained = explain_volume(run.model, x, int(shares.argmax()), volume.axes, volume.spacing, name=name, **options)
    return CaseExplanation(
        name=name,
        volume=volume,
        probabilities=shares,
        label=None if cases.labels is None else int(cases.labels[index]),
        patient=None if cases.groups is None else cases.groups[index],
        **vars(explained),
    )


def average_attention(
    run: Run, cases: Cases, indices: Sequence[int], sample: str = "", *, first: int = 0
) -> list[ModeMap]:  # fmt: skip
    """Attention averaged over cases, slices counted from `first`, without millimetres where spacings differ."""
    if not has_maps(run.model) or not len(indices):
        return []
    groups, spacings = [], set()
    for index in indices:
        volume = cases.inputs.prepared(int(index))
        spacings.add(volume.spacing)
        groups.append(maps_of(run.model, network_input(run, volume)))
    spacing = spacings.pop() if len(spacings) == 1 else None
    named = [volume_maps(run.model, maps, volume.sizes, volume.axes, spacing, first=first) for maps in groups]
    return average_maps(named, sample=sample)


def network_input(run: Run, volume: Volume) -> Tensor:
    """The volume as the network takes it in evaluation, `(1, channels, *sizes)`."""
    return evaluated(run.state.normalised(volume).to(device_of(run.model)), run.config)


def named_cases(cases: Cases, names: Sequence[str]) -> list[int]:
    """Indices of cases by name."""
    return positions_of(names, cases.names["case"], f"{cases.source} has no case")


def write_explanations(run: Run, cases: Cases, indices: Sequence[int], folder: Path) -> Answer:
    """Explain cases into a folder and say what was found.

    For each case `case-NAME-attention.nii.gz` and `case-NAME-gradients.nii.gz` on the grid of its file, and
    `case-NAME.png`; `maps.npz` holds the attention per mode of every case and its mean.
    """
    lines, paths, maps, curves = [], [], [], []
    for index in map(int, indices):
        item = explain_case(run, cases, index)
        paths += [*write_maps(folder, item, cases.inputs, index), _write_picture(folder, item)]
        lines.append(_sentence(item, run.state.classes))
        maps += item.maps
        curves += [item.deletion] if item.deletion is not None else []
    average = average_attention(run, cases, indices, sample=f"mean over {len(indices)} cases")
    if average:
        save_maps(folder / "maps.npz", [*average, *maps])
        paths.append(folder / "maps.npz")
    return Answer(files=paths, notes=[*strongest(average), *lines, *deletion_line(curves, "cases", "blocks")])


def write_maps(folder: Path, item: CaseExplanation, scans: Scans, index: int) -> list[Path]:
    """Write one case's attention and gradients as NIfTI on the grid of its file, into a folder made if need be."""
    make_folder(folder)
    scan, paths = scans.read(index), []
    for name, values in item.overlays.items():
        paths.append(folder / f"case-{item.name}-{name}.nii.gz")
        write_nifti(paths[-1], to_scan(values, scan, scans.options), scan.affine)
    return paths


def _write_picture(folder: Path, item: CaseExplanation) -> Path:
    path, volume = folder / f"case-{item.name}.png", item.volume
    save_planes(
        path, item.picture, item.overlays, title=item.name, axes=volume.axes, spacing=volume.spacing,
        orientation=volume.orientation,
    )  # fmt: skip
    return path


def _sentence(item: CaseExplanation, classes: Sequence[str]) -> str:
    label = None if item.label is None else classes[item.label]
    return sentence_on(item.name, label, classes[item.predicted], item.probabilities[item.predicted], item.sums)


def reload_cases(run: Run) -> Cases:
    """The cases that the run was trained on, their labels counted in the run's classes."""
    cases: Cases = run.task.prepare(run.config, data_of(run), run.state).raw
    return cases


def is_large(run: Run) -> bool:
    """Whether explaining a volume takes so long that a report does with less."""
    return int(np.prod(run.state.sizes)) > SWIFT_VOXELS


def affordable(run: Run, most: int, least: int = 1) -> int:
    """How many cases a report explains: the fewer the larger the volumes are, but so many at least."""
    return max(least, round(min(SWIFT_VOXELS / int(np.prod(run.state.sizes)), 1) * most))


def interesting(run: Run, cases: Cases, wrongs: int = SHOWN_CASES, rights: int = SHOWN_RIGHT) -> list[tuple[str, int]]:
    """Headings, and indices in `cases` of the test cases that tell most; see `targets.telling`."""
    answers, indices = answers_of(run.tables), {name: index for index, name in enumerate(cases.names["case"])}
    known = answers[answers["case"].astype(str).isin(indices)]
    return [(heading, indices[name]) for heading, name in telling(known, run.state.classes, "case", wrongs, rights)]
