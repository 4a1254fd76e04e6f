"""Explanations lie where the scan lies, add up to what the network said, and leave nothing out silently."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from multiway.data.sources.scans.cases import Scans, scan_cases
from multiway.data.sources.scans.grids import to_file
from multiway.data.sources.scans.intensity import IntensityScale
from multiway.data.sources.scans.nifti import write_nifti
from multiway.data.sources.scans.reading import read_header, read_volume
from multiway.data.sources.scans.volume import Volume, VolumeHeader
from multiway.errors import ConfigError, DataError
from multiway.explain import load_maps
from multiway.tasks.run import Models, Run
from multiway.tasks.scans import VolumeConfig
from multiway.tasks.scans.config import ClassOptions
from multiway.tasks.scans.encode import VolumeState
from multiway.tasks.scans.explain import (
    average_attention,
    explain_case,
    explain_cases,
    explain_classes,
    network_input,
    write_maps,
)
from multiway.tasks.scans.task import CLASSES as TASK
from tolerances import LONG32, SUMS32

SIZES = (8, 12, 9)
REFLECTIONS = [(), (2,), (3,), (4,), (2, 3), (2, 4), (3, 4), (2, 3, 4)]
AFFINE = np.array([[0.0, -1.5, 0, 20], [-1.0, 0, 0, 30], [0, 0, 2.5, -40], [0, 0, 0, 1]])  # P, L, S: turned twice


@dataclasses.dataclass
class FakeScans:
    paths: list[Path]

    def header(self, index: int) -> VolumeHeader:
        return read_header(self.paths[index])

    def volume(self, index: int) -> Volume:
        return read_volume(self.paths[index])

    def mask(self, index: int) -> None:
        return None

    def place(self, index: int) -> str:
        return self.paths[index].name


def make_run(name="hot_volume_classifier", sizes=SIZES, read=None, **more):
    fields = {"dim": 16, "num_heads": 2, "stem_channels": 4} if name == "hot_volume_classifier" else {}
    config = VolumeConfig(
        model={"name": name, **fields, **more}, read=read or ClassOptions(), baselines=(), training={"seed": 5}
    )
    state = VolumeState(
        classes=("benign", "malignant"), channels=1, sizes=sizes, axes=("depth", "height", "width"),
        scale=IntensityScale(centre=(50.0,), spread=(20.0,)),
    )  # fmt: skip
    models = Models(TASK, config, state)
    models["network"].eval()
    calibration = {"network": torch.tensor(0.5, dtype=torch.float64)}
    return Run(task=TASK, config=config, state=state, models=models, calibration=calibration)


def make_cases(folder, options, shapes=((8, 12, 9),) * 3, affine=AFFINE):
    chance = np.random.default_rng(8)
    paths = []
    for index, shape in enumerate(shapes):
        values = chance.integers(0, 100, shape).astype(np.int16)
        paths.append(folder / (f"scan{index}.npy" if affine is None else f"scan{index}.nii.gz"))
        if affine is None:
            np.save(paths[-1], values)
        else:
            write_nifti(paths[-1], values, affine)
    count = len(paths)
    scans = Scans(files=FakeScans(paths), options=options, rows=np.arange(count), source="scans")
    return scan_cases(
        scans, tuple(path.name.split(".")[0] for path in paths), labels=np.arange(count) % 2,
        classes=("benign", "malignant"), patients=tuple(f"p{index}" for index in range(count)),
    )  # fmt: skip


def test_a_case_is_explained_whole(tmp_path):
    run, cases = make_run(), make_cases(tmp_path, ClassOptions())
    found = explain_case(run, cases, 1)
    logits = run.model(run.state.scale.apply(torch.from_numpy(cases.inputs.prepare(1).values)[None]))
    np.testing.assert_allclose(found.probabilities, logits.detach().double().softmax(-1)[0], rtol=LONG32)
    assert (found.name, found.label, found.patient) == ("scan1", 1, "p1")
    assert found.attention.shape == found.gradients.shape == SIZES
    change = (logits - run.model(torch.zeros(1, 1, *SIZES)))[0, found.answer].item()
    assert found.sums[1] == pytest.approx(change, rel=LONG32)
    assert found.sums == pytest.approx((found.gradients.sum(), found.gradients.sum()), rel=0.1)
    assert set(found.deletion.marked) == {"attention", "gradients"}
    assert found.deletion.marked["attention"][0] == pytest.approx(found.probabilities[found.answer], rel=LONG32)
    assert [item.mode for item in found.maps[:3]] == ["y", "x", "z"]
    assert found.maps[0].key_labels == ("slices 0–3, 0–4 mm", "slices 4–7, 4–8 mm")
    assert found.maps[2].key_labels[-1] == "slice 8, 20–22.5 mm"


def test_the_same_seed_explains_the_same(tmp_path):
    run, cases = make_run(), make_cases(tmp_path, ClassOptions())
    one, two = (explain_case(run, cases, 0) for _ in range(2))
    np.testing.assert_array_equal(one.gradients, two.gradients)
    np.testing.assert_array_equal(one.deletion.random, two.deletion.random)


def test_shapes_are_halved_as_in_evaluation(tmp_path):
    run, cases = make_run(), make_cases(tmp_path, ClassOptions())
    plain = network_input(run, cases.inputs.prepare(0))
    shapes = make_run(read=ClassOptions(shape_transform=True))
    torch.testing.assert_close(network_input(shapes, cases.inputs.prepare(0)), plain / 2)


def test_probabilities_are_those_of_the_prediction(tmp_path):
    """Averaged over reflections where the run says so, as in its table."""
    run, cases = make_run(), make_cases(tmp_path, ClassOptions())
    flipping = dataclasses.replace(run, config=run.config.replace(evaluate_flips=True))
    x = network_input(run, cases.inputs.prepare(0))
    some = [run.model(x.flip(axes) if axes else x).detach().double().softmax(-1)[0].numpy() for axes in REFLECTIONS]
    found = explain_case(flipping, cases, 0, gradients=False, deletion=False).probabilities
    np.testing.assert_allclose(found, np.mean(some, axis=0), rtol=LONG32)
    assert not np.allclose(found, some[0], rtol=LONG32)


def test_a_network_without_maps_has_gradients_alone(tmp_path):
    run, cases = make_run("cnn_volume_classifier"), make_cases(tmp_path, ClassOptions())
    found = explain_case(run, cases, 0)
    assert (found.maps, found.attention) == ([], None)
    assert list(found.deletion.marked) == ["gradients"]
    assert average_attention(run, cases, [0]) == []


def test_full_attention_has_no_map_per_mode(tmp_path):
    run, cases = make_run(attention="full"), make_cases(tmp_path, ClassOptions())
    assert explain_case(run, cases, 0, deletion=False).attention is None


def test_attention_is_averaged_and_loses_millimetres_where_they_differ(tmp_path):
    run, cases = make_run(), make_cases(tmp_path, ClassOptions())
    found = average_attention(run, cases, [0, 1, 2])
    alone = [explain_case(run, cases, index, gradients=False, deletion=False).maps for index in range(3)]
    np.testing.assert_allclose(
        found[4].weights, np.mean([maps[4].weights for maps in alone], axis=0), rtol=SUMS32, atol=SUMS32
    )
    assert found[0].key_labels[0] == "slices 0–3, 0–4 mm"
    write_nifti(cases.inputs.files.paths[1], cases.inputs.read(1).values[0], 2 * AFFINE)
    assert average_attention(run, cases, [0, 1])[0].key_labels[0] == "slices 0–3"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"orientation": "RAS"},
        {"orientation": "LPS", "spacing": (1.5, 1.0, 1.25)},
        {"resample_to": (16, 10, 18)},
        {"orientation": "SAR", "size": (6, 14, 7)},
    ],
    ids=str,
)
def test_a_map_goes_back_to_where_its_voxels_came_from(tmp_path, options):
    """A smooth function of place (in mm), prepared and brought back, is that function again where it was seen."""
    cases = make_cases(tmp_path, ClassOptions(**options), shapes=[(14, 16, 12)])
    grid = np.stack(np.meshgrid(*(np.arange(n) for n in (14, 16, 12)), indexing="ij"), -1)
    place = grid @ AFFINE[:3, :3].T + AFFINE[:3, 3]
    values = (place @ np.array([0.3, -0.2, 0.1]) + 100).astype(np.float32)
    write_nifti(cases.inputs.files.paths[0], values, AFFINE)
    prepared = cases.inputs.prepare(0)
    found = to_file(prepared.values[0], cases.inputs.file_header(0), cases.inputs.options, "scan")
    assert found.shape == values.shape
    inverse = np.linalg.inv(prepared.affine)
    there = place @ inverse[:3, :3].T + inverse[:3, 3]
    last = np.array(prepared.sizes) - 1
    inside = ((there >= -1e-6) & (there <= last + 1e-6)).all(-1)
    padded = prepared.values[0] == prepared.values[0].min() if "size" in options else None
    if padded is None:
        np.testing.assert_allclose(found[inside], values[inside], rtol=LONG32, atol=0.2)
        assert inside.mean() > 0.5
    else:
        same = np.isclose(found, values, rtol=LONG32)
        assert same[inside].mean() > 0.8
    outside = ((there < -0.51) | (there > last + 0.51)).any(-1)
    assert (found[outside] == 0).all()


def test_bare_arrays_keep_their_grid(tmp_path):
    cases = make_cases(tmp_path, ClassOptions(size=(8, 6, 9)), shapes=[SIZES], affine=None)
    scan = cases.inputs.read(0)
    values = cases.inputs.prepare(0).values[0].astype(np.float32)
    found = to_file(values, scan.header, cases.inputs.options, "scan")
    np.testing.assert_array_equal(found[:, 3:9], scan.values[0][:, 3:9])
    assert found[:, :3].max() == found[:, 9:].max() == 0


def test_files_lie_on_the_scan_and_say_what_was_found(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    run, cases = make_run(sizes=(12, 8, 9)), make_cases(tmp_path, ClassOptions(orientation="RAS", size=(12, 8, 9)))
    answer = explain_cases(run, cases, [2, 0], tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        *(f"case-scan0{end}" for end in ("-attention.nii.gz", "-gradients.nii.gz", ".png")),
        *(f"case-scan2{end}" for end in ("-attention.nii.gz", "-gradients.nii.gz", ".png")),
        "maps.npz",
    ]
    scan = nibabel.load(cases.inputs.files.paths[2])
    for name in ("attention", "gradients"):
        image = nibabel.load(tmp_path / "out" / f"case-scan2-{name}.nii.gz")
        np.testing.assert_allclose(image.affine, scan.affine)
        assert image.shape == scan.shape
        item = explain_case(run, cases, 2, deletion=False)
        expected = to_file(getattr(item, name), cases.inputs.file_header(2), cases.inputs.options, "scan")
        np.testing.assert_allclose(image.get_fdata(), expected, rtol=SUMS32, atol=SUMS32)
    maps = load_maps(tmp_path / "out" / "maps.npz")
    assert [item.sample for item in maps[::6]] == ["mean over 2 cases", "scan2", "scan0"]
    lines = answer.lines()
    assert lines[0].startswith("x, block 0: slices ")
    assert any(line.startswith("scan2: is benign, named ") and "; the gradients sum to " in line for line in lines)
    assert any(line.startswith("deletion test over") and "at random 0." in line for line in lines)
    assert lines[-1] == str(tmp_path / "out" / "maps.npz")


def test_maps_of_a_prediction_are_written_without_a_picture(tmp_path):
    pytest.importorskip("nibabel")
    run, cases = make_run(), make_cases(tmp_path, ClassOptions())
    paths = write_maps(tmp_path / "maps", explain_case(run, cases, 0, deletion=False), cases.inputs, 0)
    assert [path.name for path in paths] == ["case-scan0-attention.nii.gz", "case-scan0-gradients.nii.gz"]
    assert sorted((tmp_path / "maps").iterdir()) == paths


def test_a_scan_of_another_size_is_named(tmp_path):
    run, cases = make_run(), make_cases(tmp_path, ClassOptions(), shapes=[(8, 12, 10)])
    with pytest.raises(
        DataError, match=r"scan0\.nii\.gz: the run was trained on .* \(1, 8, 12, 9\)\. Got \(1, 8, 12, 10\)"
    ):
        explain_case(run, cases, 0)


def test_an_unknown_case_names_the_nearest(tmp_path, monkeypatch):
    cases = make_cases(tmp_path, ClassOptions())
    monkeypatch.setattr("multiway.tasks.scans.explain.reload_cases", lambda run: cases)
    with pytest.raises(ConfigError, match=r"has no case 'scam1'; did you mean scan"):
        explain_classes(make_run(), tmp_path / "out", {"cases": ["scam1"]})
