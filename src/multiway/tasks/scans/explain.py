"""What networks on scans looked at and what made their answers, on the axes of the scans."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from multiway.config import Plain
from multiway.data.sources.scans.cases import Cases, Scans
from multiway.data.sources.scans.grids import to_file
from multiway.data.sources.scans.nifti import write_nifti
from multiway.data.sources.scans.volume import Volume
from multiway.data.targets import join_labels
from multiway.errors import ConfigError
from multiway.explain import (
    ModeMap,
    VolumeExplanation,
    average_maps,
    deletion_line,
    draw_maps,
    explain_volume,
    has_maps,
    maps_of,
    mode_maps,
    save_maps,
    save_planes,
    span_labels,
    strongest,
    volume_maps,
)
from multiway.files import atomic_folder, make_folder
from multiway.tasks.answers import Answer, positions_of
from multiway.tasks.lifecycle import reread
from multiway.tasks.protocol import NETWORK
from multiway.tasks.run import Run
from multiway.tasks.scans.encode import Examples
from multiway.tasks.scans.networks import as_evaluated, scan_outputs
from multiway.tasks.scans.patches import cut_middle
from multiway.tasks.targets import answers_of, recalibrate, sentence_on, telling
from multiway.training.processes import device_of

STEPS, FEW_STEPS, COSTLY_VOXELS = 96, 48, 48**3
"""Points of integrated gradients, and those of volumes with more voxels."""
SHOWN_CASES, SHOWN_RIGHT = 8, 4
EXPLAINED, MOST_CASES = 4, 8
"""Cases of the test that are explained if none is named: with classes, and with masks."""
SWIFT_VOXELS = 32**3
"""Of volumes larger than this a report explains fewer cases, at fewer points: nobody waits an hour for a page."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class CaseExplanation(VolumeExplanation):
    """One case.

    volume: As the network saw it, before intensities are normalised.
    probabilities: Of classes, `(classes,)`; else the number alone, `(1,)`.
    label: Position of the class, the number, or 0 or 1 for each of several labels.
    """

    name: str
    volume: Volume
    probabilities: NDArray[np.float64]
    label: NDArray[Any] | np.generic | None = None
    patient: str | None = None

    @property
    def answer(self) -> int:
        """Class of the highest probability."""
        return int(self.probabilities.argmax())

    def words(self, classes: Sequence[str] | None) -> tuple[str | None, str, float | None]:
        """What the case is, if that is known, what it was named and with which probability; or its numbers."""
        if classes is None:
            return None if self.label is None else f"{self.label:.4g}", f"{self.probabilities[0]:.4g}", None
        answer = classes[self.answer], float(self.probabilities[self.answer])
        if self.label is None or np.ndim(self.label) == 0:
            return None if self.label is None else classes[int(self.label)], *answer
        return join_labels(np.asarray(self.label)[None], classes)[0] or "none", *answer

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
    volume, name, state = cases.inputs.prepare(index), cases.names["case"][index], run.state
    plain = scan_outputs(run.model.eval(), state.normalise(volume), run.config, state)
    shares = recalibrate(run.calibration, {NETWORK: plain})[NETWORK][:1].flatten()
    x = network_input(run, volume)
    options["deletion"] = options.get("deletion", True) and state.kind == "classes"  # it watches their probability
    options["steps"] = options.get("steps") or (FEW_STEPS if x[0].numel() > COSTLY_VOXELS else STEPS)
    explained = explain_volume(run.model, x, int(shares.argmax()), volume.axes, volume.spacing, name=name, **options)
    if state.target is not None:
        explained = _in_units(explained, float(state.target.std[0]))
    return CaseExplanation(
        name=name,
        volume=volume,
        probabilities=shares,
        label=None if cases.target is None else cases.target[index],
        patient=None if cases.groups is None else cases.groups[index],
        **vars(explained),
    )


def _in_units(explained: VolumeExplanation, unit: float) -> VolumeExplanation:
    """Gradients of a scaled number as those of the number."""
    if explained.gradients is None or explained.sums is None:
        return explained
    total, change = explained.sums
    return dataclasses.replace(
        explained, gradients=(unit * explained.gradients).astype(np.float32), sums=(unit * total, unit * change)
    )


def average_attention(
    run: Run, cases: Cases, indices: Sequence[int], sample: str = "", *, first: int = 0
) -> list[ModeMap]:
    """Attention averaged over cases, slices counted from `first`, without millimetres where spacings differ."""
    if not has_maps(run.model) or not len(indices):
        return []
    groups, spacings = [], set()
    for index in indices:
        volume = cases.inputs.prepare(int(index))
        spacings.add(volume.spacing)
        groups.append(maps_of(run.model, network_input(run, volume)))
    spacing = spacings.pop() if len(spacings) == 1 else None
    named = [volume_maps(run.model, maps, volume.sizes, volume.axes, spacing, first=first) for maps in groups]
    return average_maps(named, sample=sample)


def network_input(run: Run, volume: Volume) -> Tensor:
    """The volume as the network takes it in evaluation, `(1, channels, *sizes)`."""
    return as_evaluated(run.state.normalise(volume).to(device_of(run.model)), run.config)


def explain_classes(run: Run, out: Path | None, options: Plain) -> Answer:
    """Maps of the named cases, or of the test cases that tell most; see `explain_cases`."""
    cases, names = reload_cases(run), options.get("cases")
    if names:
        chosen = positions_of(names, cases.names["case"], f"{cases.source} has no case")
    else:
        chosen = [index for _, index in interesting(run, cases)][:EXPLAINED]
    with atomic_folder(run.explanation(out), replace=True) as made:
        answer = explain_cases(run, cases, chosen, made).within(run.explanation(out))
    return dataclasses.replace(answer, head=run.answer.explain_line(NETWORK, "which alone has maps"))


def explain_cases(run: Run, cases: Cases, indices: Sequence[int], folder: Path) -> Answer:
    """Explain cases into a folder and say what was found.

    For each case `case-NAME-attention.nii.gz` and `case-NAME-gradients.nii.gz` on the grid of its file, and
    `case-NAME.png`; `maps.npz` holds the attention per mode of every case and its mean.
    """
    lines, paths, maps, curves = [], list[Path](), [], []
    for index in map(int, indices):
        item = explain_case(run, cases, index)
        volume, picture = item.volume, folder / f"case-{item.name}.png"
        paths += [*write_maps(folder, item, cases.inputs, index), picture]
        save_planes(
            picture,
            item.picture,
            item.overlays,
            title=item.name,
            axes=volume.axes,
            spacing=volume.spacing,
            orientation=volume.orientation,
        )
        lines.append(sentence_on(item.name, *item.words(run.state.classes), item.sums))
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
        write_nifti(paths[-1], to_file(values, scan.header, scans.options, scan.source), scan.affine)
    return paths


def reload_cases(run: Run) -> Cases:
    """The cases that the run was trained on, their labels counted in the run's classes."""
    cases: Cases = reread(run).raw
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
    return [
        (heading, indices[name])
        for heading, name in telling(known, run.state.classes, "case", wrongs, rights, several=run.state.several)
    ]


def explain_masks(run: Run, out: Path | None, options: Plain) -> Answer:
    """Write the maps of a segmenter as arrays and PNG files; return what is strongest and the paths.

    Attention is what the network mixes, not why it decides.

    `out` is `explanation` in the run's folder, and the cases are the first eight of the test split, if not given.
    """
    cases = options.get("cases")
    if run.config.data is None:
        raise ConfigError("explain: this run has no data to explain. Use Segmenter.explain in Python.")
    later = reread(run).encoded
    if cases is None:
        table = run.tables["cases"]
        cases = list(dict.fromkeys(table["case"][table["split"] == "test"]))[:MOST_CASES]
    chosen = positions_of(cases, later.names["case"], f"{later.source} has no case")
    maps, head = (
        attention_maps(run, later.inputs[chosen]),
        run.answer.explain_line(NETWORK, "which alone has attention"),
    )
    with atomic_folder(run.explanation(out), replace=True) as made:
        save_maps(made / "attention.npz", maps)
        paths = [made / "attention.npz", *draw_maps(made, maps)]
    return Answer(head=head, files=paths, notes=strongest(maps)).within(run.explanation(out))


@torch.no_grad()
def attention_maps(run: Run, images: Examples) -> list[ModeMap]:
    """One map per mode and block, averaged over a patch of each image.

    Modes are named by the axes, with bands before them where the network has that mode, and positions by voxels.
    """
    model: Any = run.model
    if not hasattr(model, "forward_with_maps"):
        raise ConfigError("explain: the network of this run has no attention. Choose another model.name.")
    state, maps = run.state, []
    first = int(state.background)
    batch = torch.stack([cut_middle(example, state.patch, state.scale, first) for example in images])
    for layer, block in enumerate(model.forward_with_maps(batch)[1]):
        modes = dict(zip(state.axes, state.patch, strict=True))
        modes = {"bands": state.channels, **modes} if len(block) > state.num_modes else modes
        labels = [span_labels(length, mode.shape[-1]) for length, mode in zip(modes.values(), block, strict=True)]
        items = mode_maps([block], list(modes), labels, ordered=list(modes))
        maps += [dataclasses.replace(item, layer=layer) for item in items]
    return maps
