"""Saved maps come back with their labels, whatever the labels hold, and a damaged file is one line."""

import os
import pickle
import random
import sys
import zipfile

import numpy as np
import pytest

from multiway.errors import ConfigError, RunError
from multiway.explain import ModeMap, load_maps, plot_mode_map, rollout, save_maps, save_mode_map
from multiway.explain.figures import MAX_BYTES
from tolerances import ROUNDING32

HOSTILE = ("../../etc/passwd", "a\x00b", "\ud800 lone", "weights_0000", "x" * 300, "$\\frac{")


def sample_map(labels=HOSTILE, **more):
    weights = np.random.default_rng(3).dirichlet(np.ones(len(labels)), (2, len(labels)))
    return ModeMap(mode="variates", query_labels=labels, key_labels=labels, weights=weights, **more)


def test_maps_come_back_as_they_were(tmp_path):
    maps = [
        sample_map(layer=1, num_samples=9, sample="window 3", ordered=True),
        rollout([sample_map()], "variates"),
    ]
    save_maps(tmp_path / "maps.npz", maps)
    for found, wanted in zip(load_maps(tmp_path / "maps.npz"), maps, strict=True):
        np.testing.assert_allclose(found.weights, wanted.weights, rtol=ROUNDING32)
        for name in ("mode", "query_labels", "key_labels", "layer", "num_samples", "sample", "ordered"):
            assert getattr(found, name) == getattr(wanted, name)


def test_no_label_becomes_a_name_in_the_file(tmp_path):
    save_maps(tmp_path / "maps.npz", [sample_map()])
    assert zipfile.ZipFile(tmp_path / "maps.npz").namelist() == ["weights_0000.npy", "index.npy"]
    assert [path.name for path in tmp_path.iterdir()] == ["maps.npz"]


class Planted:
    """Unpickling it makes a folder."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_pickled_arrays_are_refused_even_when_their_size_is_right(tmp_path):
    payload = pickle.dumps(Planted(tmp_path / "ran"))
    payload += b"." * (-len(payload) % 8)
    header = f"{{'descr': '|O', 'fortran_order': False, 'shape': ({len(payload) // 8},), }}".encode().ljust(117) + b"\n"
    write_member(tmp_path / "maps.npz", header, payload)
    with pytest.raises(RunError, match="not a readable file of attention maps: Object arrays cannot be loaded"):
        load_maps(tmp_path / "maps.npz")
    assert not (tmp_path / "ran").exists()


def write_member(path, header, payload):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("index.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + payload)


def test_a_header_that_lies_about_its_size_is_refused_before_anything_is_allocated(tmp_path):
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000), }".ljust(117) + b"\n"
    write_member(tmp_path / "maps.npz", header, b"abcd")
    with pytest.raises(RunError, match=r"declares \(1000000, 1000000\) of float32 but holds other bytes"):
        load_maps(tmp_path / "maps.npz")
    assert MAX_BYTES < 4 * 10**12


def test_damaged_bytes_never_end_in_a_traceback_of_another_kind(tmp_path):
    path = tmp_path / "maps.npz"
    save_maps(path, [sample_map()])
    good, chance = path.read_bytes(), random.Random(5)
    for _ in range(150):
        content = bytearray(good)
        for _ in range(chance.randint(1, 4)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        path.write_bytes(bytes(content[: chance.choice([len(content), chance.randrange(len(content))])]))
        try:
            load_maps(path)
        except RunError as error:
            assert "\n" not in str(error)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(RunError, match=r"none\.npz is not a readable file of attention maps: .*Explain the run again"):
        load_maps(tmp_path / "none.npz")


def test_a_figure_is_a_png_and_leaves_matplotlib_as_it_was(tmp_path):
    import matplotlib

    before = dict(matplotlib.rcParams), matplotlib.get_backend(auto_select=False)
    save_mode_map(tmp_path / "map.png", sample_map(), head=1)
    assert (tmp_path / "map.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert (dict(matplotlib.rcParams), matplotlib.get_backend(auto_select=False)) == before


def test_a_figure_says_which_extra_draws_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ConfigError, match=r"Drawing figures needs matplotlib, .* `pip install 'multiway\[explain\]'`"):
        plot_mode_map(sample_map())


def test_a_figure_carries_the_labels_and_the_weights():
    item = sample_map(labels=("HUFL", "OT", "load $"))
    axes = plot_mode_map(item).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["HUFL", "OT", r"load \$"]
    np.testing.assert_allclose(axes.images[0].get_array(), item.head_mean())
    assert axes.get_title(loc="left") == "Attention over variates, layer 1, mean over heads"


def test_many_labels_are_thinned():
    item = sample_map(labels=tuple(f"v{index}" for index in range(101)))
    assert len(plot_mode_map(item).axes[0].get_xticks()) <= 40


def test_a_head_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="Got head=2 for 2 heads"):
        plot_mode_map(sample_map(), head=2)
