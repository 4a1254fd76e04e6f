"""What a size leaves of scans, and what a check proposes: every body fits, and no more than it needs."""

import itertools
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from data.sources.scans import scans
from multiway import workflows
from multiway.data.options import VolumeOptions
from multiway.data.sources.scans.bodies import Room, find_body, propose_grid, sizes_needed
from multiway.data.sources.scans.grids import prepare
from multiway.data.sources.scans.volume import Volume, VolumeHeader
from multiway.tasks.scans import VolumeConfig
from multiway.tasks.scans.task import CLASSES as TASK


def header(sizes, spacing=None):
    affine = None if spacing is None else np.diag([*spacing, 1.0])
    return VolumeHeader(sizes=sizes, channels=1, dtype=np.dtype(np.int16), affine=affine)


def ball(sizes=(24, 21, 17), centre=(9, 11, 8), radius=5, seed=0):
    """A bright ball in noise."""
    grid = np.stack(np.meshgrid(*(np.arange(size) for size in sizes), indexing="ij"), -1)
    inside = np.linalg.norm(grid - np.array(centre), axis=-1) <= radius
    noise = np.random.default_rng(seed).normal(0, 8, sizes)
    return (200 * inside + noise)[None].astype(np.float32), inside


def test_the_body_is_what_is_bright():
    values, inside = ball()
    assert (find_body(values)[inside]).all() and find_body(values).sum() == inside.sum()
    assert not find_body(np.full((1, 3, 4, 5), 7.0)).any()
    flat = values[:, int(np.flatnonzero(inside.any((1, 2)))[0])]  # a picture has two axes
    np.testing.assert_array_equal(find_body(flat), flat[0] > 0.5 * flat.max())


def test_the_size_that_is_needed_is_the_least_that_loses_nothing():
    _, inside = ball()
    needed = sizes_needed(inside)
    volume = Volume(values=inside[None].astype(np.uint8), affine=None, source="ball")

    def kept(size):
        return int(prepare(volume, VolumeOptions(size=size)).values.sum())

    assert kept(needed) == inside.sum()
    for axis in range(3):
        assert kept(tuple(size - (axis == other) for other, size in enumerate(needed))) < inside.sum()
    assert sizes_needed(np.zeros((3, 5, 7), bool)) == (1, 1, 1)
    for first, last in itertools.combinations_with_replacement(range(6), 2):
        line = np.zeros(6, bool)
        line[[first, last]] = True
        (size,) = sizes_needed(line)
        start = (6 - size) // 2
        assert start <= first and last < start + size


def test_a_share_is_of_the_voxels_before_the_cut():
    room = Room(whole=header((48, 48, 48)), needed=(40, 20, 20))
    assert room.share((16, 16, 8)) == pytest.approx(16 * 16 * 8 / 48**3)
    assert room.share((64, 48, 24)) == 0.5 and room.share(None) == 1
    assert room.is_cut((39, 20, 20)) and not room.is_cut((40, 20, 20))


def test_a_proposal_holds_every_body_at_one_spacing():
    rooms = [Room(whole=header((50, 40, 30), (1, 1, 2)), needed=(30, 21, 10)),
             Room(whole=header((50, 40, 30), (2, 1, 2)), needed=(20, 22, 30)),
             Room(whole=header((50, 40, 30), (2, 1, 2)), needed=(8, 8, 8))]  # fmt: skip
    assert propose_grid(rooms) == ((2, 1, 2), (20, 24, 30))
    assert propose_grid(rooms[1:]) == (None, (20, 24, 30))
    assert propose_grid([Room(whole=header((9, 9, 9)), needed=(5, 5, 9))]) == (None, (8, 8, 9))
    turned = Room(
        whole=VolumeHeader(**{**vars(header((9, 9, 9))), "affine": np.diag([-1.0, 1, 1, 1])}), needed=(1, 1, 1)
    )
    assert propose_grid([rooms[0], turned]) is None


def write(folder, sizes=((24, 21, 17), (20, 21, 17))):
    for row in range(20):
        shape = sizes[row % len(sizes)]
        values, _ = ball(shape, tuple(size // 2 - row % 2 for size in shape), 5, row)
        scans.nifti(folder / f"{row}.nii", values[0].astype(np.int16), np.eye(4))
    frame = pd.DataFrame({"path": [f"{row}.nii" for row in range(20)], "label": ["a", "b", "b", "a"] * 5})
    frame.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def check(path, **read):
    return TASK.kind.check(VolumeConfig.parse({"read": read}), str(path))


def test_a_check_proposes_a_size_that_works_and_cuts_no_body(tmp_path):
    path = write(tmp_path)
    (note,) = [finding for finding in check(path).findings if "every body fits" in finding.rule]
    size = note.fix[1].value
    assert note.rule == "every body fits into 16 x 16 x 16 voxels" and size == [16, 16, 16]
    report = check(path, size=size)
    assert report.is_usable and not any(finding.kind == "cut" for finding in report.findings)
    assert report.summary["kept by size"].startswith("52.")
    cut = next(finding for finding in check(path, size=[8, 16, 16]).findings if finding.kind == "cut")
    assert cut.line().startswith("size 8 x 16 x 16 cuts the body in 20 of 20 scans; every body fits into 16 x 16 x 16")
    assert "read.size=[16, 16, 16]" in cut.line()


def test_training_says_what_a_size_keeps(tmp_path):
    path = write(tmp_path, ((48, 48, 48),))
    config = VolumeConfig.parse({"read": {"size": [16, 16, 8]}})
    notes = TASK.prepare(config, str(path)).notes
    assert "size 16 x 16 x 8 cuts 20 of 20 scans and keeps 1.85 % of the voxels of 0, the least." in notes


def test_the_settings_that_a_check_proposes_train_on_scans_that_differ(tmp_path):
    path = write(tmp_path)
    for row in range(0, 20, 3):
        values, _ = ball((24, 21, 34), (12, 10, 17), 5, row)
        scans.nifti(tmp_path / f"{row}.nii", values[0].astype(np.int16), np.diag([-1, 1, 0.5, 1]))
    report = workflows.check(path)
    assert (report.task, report.is_usable) == ("volumes", False)  # they point in different directions
    fixes = TASK.kind.proposal(VolumeConfig(), str(path))
    assert [fix.field for fix in fixes] == ["read.orientation", "read.spacing", "read.size"]
    settings = {fix.field.removeprefix("read."): fix.value for fix in fixes}
    turned = workflows.check(path, {"read": {"orientation": "RAS"}})
    assert turned.is_usable and turned.proposal == fixes[1:]
    assert not any(finding.kind == "cut" for finding in check(path, **settings).findings)
    prepared = TASK.prepare(VolumeConfig.parse({"read": settings}), str(path))
    assert prepared.raw.inputs.sizes == tuple(settings["size"])


def test_a_table_of_scans_is_no_table_of_rows(tmp_path):
    assert workflows.tasks_of_data(str(write(tmp_path))) == ("volumes",)


@pytest.mark.parametrize("channels", [1, 3])
def test_a_body_is_found_plane_by_plane_as_in_the_whole(channels):
    """The whole is Otsu's threshold of one histogram, written out; planes run along whatever axis is slowest."""
    values = np.random.default_rng(3).gamma(2, 50, (channels, 11, 13, 7)).astype(np.float32)
    image = values.mean(0, dtype=np.float64)
    counts, edges = np.histogram(image, 128)
    middles = (edges[1:] + edges[:-1]) / 2

    def between(level):
        sides = [slice(None, level), slice(level, None)]
        sizes = [counts[side].sum() for side in sides]
        means = [(counts[side] * middles[side]).sum() / size for side, size in zip(sides, sizes, strict=True)]
        return sizes[0] * sizes[1] * (means[0] - means[1]) ** 2

    expected = image > edges[max(range(1, 128), key=between)]
    for order in itertools.permutations(range(1, 4)):
        turned = np.ascontiguousarray(values.transpose(0, *order)).transpose(0, *(1 + np.argsort(order)))
        np.testing.assert_array_equal(find_body(turned), expected)


def test_a_scan_is_looked_at_without_a_second_copy(tmp_path):
    """Above what the voxels take, a look at a file needs a fifth of that at most."""
    voxels = np.zeros((160, 170, 190)) + np.arange(190) // 4
    path = scans.nifti(tmp_path / "large.nii.gz", voxels)
    workflows.check(path)
    tracemalloc.start()
    workflows.check(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.35 * voxels.nbytes
