import numpy as np
import pytest

from multiway.data import datasets
from multiway.data.sources.images import read_images
from multiway.errors import DataError
from multiway.tasks.registry import task_of, task_of_data
from tasks.images.shapes import make_shapes, write_folder


def test_a_known_set_brings_its_split():
    config = task_of("images").configure({"data": "cifar10"})
    assert config.split.validation == 0.1 and datasets.dataset("cifar100").known_hash.startswith("md5:")


def test_a_part_of_a_set_is_not_fetched(tmp_path):
    with pytest.raises(DataError, match=r"cifar100_12k: this part is at no address\. Use cifar100"):
        datasets.dataset("cifar100_12k").fetch("cifar100_12k", tmp_path)


def test_folders_archives_and_arrays_of_images_are_recognised(tmp_path):
    pixels, names = make_shapes(4)
    np.savez(tmp_path / "a.npz", images=pixels, labels=np.arange(4))
    volumes = np.zeros((2, 5, 5, 5), np.uint8)
    parts = {f"{part}_{kind}": volumes if kind == "images" else [0, 1] for part in ("train", "val", "test")
             for kind in ("images", "labels")}  # fmt: skip
    np.savez(tmp_path / "volumes.npz", **parts)
    assert task_of_data(write_folder(tmp_path / "shapes", 4)) == "images"
    assert task_of_data(tmp_path / "a.npz") == "images" and task_of_data((pixels, names)) == "images"
    assert task_of_data(tmp_path / "volumes.npz") == "volumes"


def test_the_part_of_cifar_100_has_its_counts(real_data):
    path = datasets.dataset("cifar100_12k").find(datasets.search_folders())
    if path is None:
        pytest.skip("cifar100_12k is not on this machine")
    images = read_images(path)
    assert [*map(images.official.count, ("train", "test")), len(images.classes)] == [10_000, 2_000, 100]
    assert images.inputs.shape[1:] == (32, 32, 3) and images.classes[0] == "apple" and not images.notes
