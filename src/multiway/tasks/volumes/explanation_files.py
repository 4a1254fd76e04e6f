"""Explanations on disk: maps as NIfTI on each scan's own grid, pictures in three planes, arrays of all."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from multiway.data.volumes import Cases, Volume, VolumeHeader, write_nifti
from multiway.data.volumes.preparing import prepared_header
from multiway.data.volumes.resampling import interpolated
from multiway.explain import ModeMap, average_curves, save_maps, save_planes, top_pairs
from multiway.files import make_folder
from multiway.tasks.answers import Answer
from multiway.tasks.run import Run
from multiway.tasks.volumes.explanation import (
    CaseExplanation,
    Floats,
    average_attention,
    explain_case,
    explain_cases,
)

TOP_PAIRS = 3


def write_explanations(run: Run, cases: Cases, indices: Sequence[int], folder: Path) -> Answer:
    """Explain cases into a folder and say what was found.

    For each case `case-NAME-attention.nii.gz` and `case-NAME-gradients.nii.gz` on the grid of its file, and
    `case-NAME.png`; `maps.npz` holds the attention per mode of every case and its mean.

    Raises:
        ConfigError: nibabel or captum is not installed.
    """
    make_folder(folder)
    lines, paths, maps, curves = [], [], [], []
    for item, index in zip(explain_cases(run, cases, indices), indices, strict=True):
        paths += write_case(folder, item, cases.read(int(index)), cases)
        lines.append(_sentence(item, run.state.classes))
        maps += item.maps
        curves += [item.deletion] if item.deletion is not None else []
    average = average_attention(run, cases, indices, sample=f"mean over {len(indices)} cases")
    if average:
        save_maps(folder / "maps.npz", [*average, *maps])
        paths.append(folder / "maps.npz")
    if curves:
        mean = average_curves(curves)
        areas = ", ".join(f"{name} {mean.area(name):.3f}" for name in mean.marked)
        lines.append(f"deletion test, mean probability while blocks are hidden: {areas}, at random {mean.area():.3f}")
    return Answer(files=paths, notes=[*_strongest(average), *lines])


def write_maps(run: Run, cases: Cases, index: int, folder: Path) -> list[Path]:
    """Write one case's attention and gradients as NIfTI on the grid of its file, without picture or test."""
    make_folder(folder)
    return _write_nifti(folder, explain_case(run, cases, index, deletion=False), cases.read(index), cases)


def write_case(folder: Path, item: CaseExplanation, scan: Volume, cases: Cases) -> list[Path]:
    """Write one case's maps and its picture."""
    picture = folder / f"case-{item.name}.png"
    save_planes(
        picture,
        first_channel(item.volume),
        {name: values for name, values in _overlays(item)},
        title=item.name,
        axes=cases.axes,
        spacing=item.volume.spacing,
        orientation=item.volume.orientation,
    )
    return [*_write_nifti(folder, item, scan, cases), picture]


def first_channel(volume: Volume) -> Floats:
    """What is drawn of a volume: its only channel, or the mean of several."""
    return np.asarray(volume.values.mean(axis=0, dtype=np.float32))


def to_scan(values: Floats, scan: Volume, cases: Cases) -> Floats:
    """Bring a map from the prepared grid to that of the file; what the network never saw is 0.

    Turns, new spacings, crops and pads all follow the axes, so each axis of the file runs along one of the map.
    """
    affine = np.eye(4) if scan.affine is None else scan.affine
    header = VolumeHeader(sizes=scan.sizes, channels=scan.channels, dtype=scan.values.dtype, affine=affine)
    grid = prepared_header(header, cases.options, scan.source)
    assert grid.affine is not None
    way = np.linalg.inv(grid.affine) @ affine
    order = [int(np.abs(way[:3, axis]).argmax()) for axis in range(3)]
    scales = [float(way[order[axis], axis]) for axis in range(3)]
    offsets = [float(way[order[axis], 3]) for axis in range(3)]
    found = interpolated(values.transpose(order)[None], scan.sizes, scales, offsets)[0]
    for axis, size in enumerate(scan.sizes):
        places = scales[axis] * np.arange(size) + offsets[axis]
        outside = (places < -0.5) | (places > values.shape[order[axis]] - 0.5)
        found[(slice(None),) * axis + (outside,)] = 0
    return np.asarray(found, np.float32)


def _overlays(item: CaseExplanation) -> list[tuple[str, Floats]]:
    found = (("attention", item.attention), ("gradients", item.gradients))
    return [(name, values) for name, values in found if values is not None]


def _write_nifti(folder: Path, item: CaseExplanation, scan: Volume, cases: Cases) -> list[Path]:
    paths = []
    for name, values in _overlays(item):
        paths.append(folder / f"case-{item.name}-{name}.nii.gz")
        write_nifti(paths[-1], to_scan(values, scan, cases), scan.affine)
    return paths


def _strongest(average: Sequence[ModeMap]) -> list[str]:
    return [f"{item.mode}, block {item.layer}: {pair}" for item in average for pair in top_pairs(item, TOP_PAIRS)]


def _sentence(item: CaseExplanation, classes: Sequence[str]) -> str:
    named = f"named {classes[item.predicted]} with {item.probabilities[item.predicted]:.0%}"
    actual = "" if item.label is None else f"is {classes[item.label]}, "
    if item.sums is None:
        return f"{item.name}: {actual}{named}"
    total, change = item.sums
    return f"{item.name}: {actual}{named}; the gradients sum to {total:+.3f}, the logit changes by {change:+.3f}"
