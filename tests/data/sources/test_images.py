import collections
import io
import tarfile

import numpy as np
import pytest
from PIL import Image

import multiway
from multiway.data.sources import bytes as limits
from multiway.data.sources import images as reading
from multiway.data.sources.images import looks_like_images, read_images
from multiway.errors import DataError
from multiway.tasks.images.config import ImageOptions

COLOURS = np.arange(2 * 4 * 4 * 3, dtype=np.uint8).reshape(2, 4, 4, 3)


def save(path, pixels, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **options)
    return path


def test_a_folder_per_class_in_the_order_of_names(tmp_path):
    for name in ("10", "9", "dog"):
        save(tmp_path / name / "deep" / "b.png", COLOURS[0])
        save(tmp_path / name / "a.webp", COLOURS[1], lossless=True)
    (tmp_path / "dog" / "notes.txt").write_text("not an image")
    (tmp_path / "dog" / ".hidden.png").write_text("nor this")
    images = read_images(tmp_path)
    assert images.classes == ("9", "10", "dog")
    assert images.names["image"] == (
        "10/a.webp",
        "10/deep/b.png",
        "9/a.webp",
        "9/deep/b.png",
        "dog/a.webp",
        "dog/deep/b.png",
    )
    assert images.target.tolist() == [1, 1, 0, 0, 2, 2] and images.official is None
    np.testing.assert_array_equal(images.inputs, np.stack([COLOURS[1], COLOURS[0]] * 3))
    assert images.notes == ("1 files are no images and were left",)


def test_folders_above_the_classes_are_parts(tmp_path):
    for part, count in (("train", 3), ("val", 2), ("test", 1)):
        for row in range(count):
            save(tmp_path / part / "dog" / f"{row}.png", COLOURS[0])
    images = read_images(tmp_path)
    assert images.classes == ("dog",)
    assert dict(collections.Counter(images.official or ())) == {"train": 3, "validation": 2, "test": 1}
    named = zip(images.names["image"], images.official, strict=True)
    assert all(name.startswith("val/") == (part == "validation") for name, part in named)


def test_images_that_lie_in_the_folder_have_no_class(tmp_path):
    save(tmp_path / "a.png", COLOURS[0])
    assert read_images(tmp_path).target is None
    save(tmp_path / "dog" / "b.png", COLOURS[0])
    with pytest.raises(DataError, match=r"lies in the folder of its class, or none does\. Got 1 without: a\.png"):
        read_images(tmp_path)


def test_what_is_clear_is_laid_on_white_and_said(tmp_path):
    clear = np.zeros((4, 4, 4), np.uint8)
    clear[:2, :, 3] = 255
    images = read_images(save(tmp_path / "a.png", clear))
    assert images.inputs[0, :, 0, 0].tolist() == [0, 0, 255, 255]
    assert images.notes == ("1 images have a channel of transparency and were laid on white",)
    np.testing.assert_array_equal(read_images((clear[None], None)).inputs, images.inputs)


def test_grey_images_stay_grey_unless_others_are_coloured(tmp_path):
    grey = save(tmp_path / "grey" / "a.png", COLOURS[0, :, :, 0])
    assert read_images(grey).inputs.shape[1:] == (4, 4, 1)
    assert read_images(grey, ImageOptions(channels="rgb")).inputs.shape[1:] == (4, 4, 3)
    save(tmp_path / "colour" / "a.png", COLOURS[0])
    mixed = read_images(tmp_path)
    assert mixed.inputs.shape[1:] == (4, 4, 3) and mixed.notes == ("1 grey images became coloured ones",)
    np.testing.assert_array_equal(mixed.inputs[1], COLOURS[0, :, :, :1].repeat(3, axis=2))
    assert read_images(grey).notes == ()
    assert read_images(tmp_path, ImageOptions(channels="grey")).notes == ("1 coloured images became grey ones",)


@pytest.mark.parametrize("as_files", [True, False])
def test_grey_is_the_same_from_files_and_arrays(tmp_path, as_files):
    source = save(tmp_path / "a.png", COLOURS[1]) if as_files else (COLOURS[1:], None)
    luma = (COLOURS[1].astype(float) @ (0.299, 0.587, 0.114)).round()
    found = read_images(source, ImageOptions(channels="grey")).inputs[0, :, :, 0]
    assert np.abs(found - luma).max() <= 1


def test_a_photograph_is_held_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    upright = read_images(save(tmp_path / "a.png", COLOURS[0, :, :2], exif=exif))
    assert upright.inputs.shape[1:] == (2, 4, 3) and upright.notes == ("1 images were turned upright",)
    assert "1 images were turned upright" in [finding.rule for finding in multiway.check(tmp_path).findings]
    np.testing.assert_array_equal(upright.inputs[0], np.rot90(COLOURS[0, :, :2], -1))


def test_sizes_must_agree_or_be_given(tmp_path):
    for row in range(3):
        save(tmp_path / "a" / f"{row}.png", COLOURS[0])
    save(tmp_path / "b" / "small.png", COLOURS[0, :3])
    message = (
        r"b/small\.png: images of one size are needed\. Got 3 x 4 and 4 x 4, 1 such\. Resize all \(read\.size=4\)\."
    )
    with pytest.raises(DataError, match=message):
        read_images(tmp_path)
    assert read_images(tmp_path, ImageOptions(size=6)).inputs.shape[1:] == (6, 6, 3)
    assert read_images((COLOURS, ["a", "b"]), ImageOptions(size=2)).inputs.shape[1:] == (2, 2, 3)


@pytest.mark.parametrize("content", [b"", b"no image", b"\x89PNG\r\n\x1a\n cut short"])
def test_a_broken_file_is_one_line(tmp_path, content):
    save(tmp_path / "dog" / "a.png", COLOURS[0])
    (tmp_path / "dog" / "b.png").write_bytes(content)
    with pytest.raises(DataError, match=r"^dog/b\.png: it is no sound image \(.*\)\. Replace or remove it\.$"):
        read_images(tmp_path)


def test_a_file_cut_within_its_pixels_is_one_line(tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    path = save(tmp_path / "a.png", noise)
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(DataError, match=r"^a\.png: it is no sound image"):
        read_images(path)


def test_values_of_more_than_a_byte_are_refused(tmp_path):
    path = save(tmp_path / "a.png", np.zeros((4, 4), np.uint16))
    with pytest.raises(DataError, match=r"a\.png: images of bytes are needed.*Got Pillow's mode I;16"):
        read_images(path)


def written(path, values, labels=(0, 1)):
    half = len(values) // 2
    of_labels = np.resize(np.array(labels), half)
    parts = {"train_images": values[:half], "test_images": values[half:]}
    np.savez_compressed(path, **parts, train_labels=of_labels, test_labels=of_labels)
    return path


def test_an_archive_of_nothing_may_not_unfold_to_what_one_of_images_may(tmp_path, monkeypatch):
    """Before an array is read; all parts count together."""
    monkeypatch.setattr(reading, "SMALL_ARRAYS", 20_000)
    noise = np.random.default_rng(0).integers(0, 256, (512, 32, 32), dtype=np.uint8)
    assert len(read_images(written(tmp_path / "noise.npz", noise))) == 512
    zeros = written(tmp_path / "zeros.npz", np.zeros_like(noise))
    with pytest.raises(DataError, match=r"^zeros\.npz, array .*: an array may take [\d,]+ bytes\. .* 262,144\. "):
        read_images(zeros)
    with pytest.raises(DataError, match=r"^zeros\.npz: an archive may take 300,000 bytes\. This one takes 524,288\. "):
        read_images(zeros, ImageOptions(max_bytes=300_000))
    assert len(read_images(zeros, ImageOptions(max_bytes=600_000))) == 512


def test_pictures_of_nothing_may_not_unfold_to_what_photographs_may(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MAX_BYTES", 100_000)
    photograph = np.random.default_rng(0).integers(0, 256, (256, 256, 3), dtype=np.uint8)
    for name, pixels in {"noise": photograph, "blank": np.zeros_like(photograph)}.items():
        save(tmp_path / name / "a.png", pixels)
    assert len(read_images(tmp_path / "noise" / "a.png")) == 1
    with pytest.raises(DataError, match=r"1 images of 256 x 256 x 3 take 196,608 bytes, and 100,000 are allowed"):
        read_images(tmp_path / "blank" / "a.png")


def test_images_that_take_too_much_memory_are_refused():
    with pytest.raises(DataError, match=r"2 images of 4 x 4 x 3 take 96 bytes, and 90 are allowed.*max_bytes=96"):
        read_images((COLOURS, None), ImageOptions(max_bytes=90))


@pytest.mark.parametrize(
    ("arrays", "classes", "parts"),
    [
        ({"images": COLOURS, "labels": [7, 3]}, ("3", "7"), {}),
        ({"train_images": COLOURS, "train_labels": [[0], [1]], "val_images": COLOURS, "val_labels": [[0], [1]],
          "test_images": COLOURS, "test_labels": [[1], [1]]}, ("0", "1"), {"train": 2, "validation": 2, "test": 2}),
        ({"x_train": COLOURS[..., 0], "y_train": [0, 1], "x_test": COLOURS[..., 0], "y_test": [0, 0]}, ("0", "1"),
         {"train": 2, "test": 2}),
    ],
)  # fmt: skip
def test_archives_of_arrays(tmp_path, arrays, classes, parts):
    np.savez(tmp_path / "a.npz", **arrays)
    assert looks_like_images(tmp_path / "a.npz")
    images = read_images(tmp_path / "a.npz")
    assert images.classes == classes and dict(collections.Counter(images.official or ())) == parts
    assert len(images) == 2 * max(len(parts), 1) and images.inputs.dtype == np.uint8
    assert [images.classes[place] for place in images.target][:2] == [str(np.ravel(arrays[y])[row]) for row in (0, 1)
            for y in arrays if y in ("labels", "train_labels", "y_train")]  # fmt: skip


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": COLOURS}, r"arrays of images and labels are needed.*It holds a"),
        ({"images": COLOURS / 255, "labels": [0, 1]}, r"images are bytes from 0 to 255 \(uint8\)\. Got float64"),
        ({"images": np.zeros((2, 3, 6, 6), np.uint8), "labels": [0, 1]}, r"Got \(2, 3, 6, 6\)\. Move the channels"),
        ({"images": COLOURS, "labels": [0, 1, 1]}, r"one whole number or word for each of 2 images\. Got int64 \(3,\)"),
        ({"x_train": COLOURS, "y_train": [0, 1], "x_test": COLOURS}, r"every part needs labels, or none"),
    ],
)  # fmt: skip
def test_unsound_archives_are_one_line(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match=message):
        read_images(tmp_path / "a.npz")


def strips(folder, counts=(4, 2)):
    rows = np.random.default_rng(0).integers(0, 256, (sum(counts), 4, 4, 3), dtype=np.uint8)
    for part, images in (("train", rows[: counts[0]]), ("test", rows[counts[0] :])):
        half = len(images) // 2
        for number, some in enumerate((images[:half], images[half:])):
            save(folder / f"{part}-{number:03d}.webp", some.reshape(-1, 4, 3), lossless=True)
        np.save(folder / f"{part}-labels.npy", np.arange(len(images), dtype=np.uint8) % 2)
    (folder / "classes.txt").write_text("cat\ndog\n")
    return rows


def test_strips_with_labels_next_to_them(tmp_path):
    rows = strips(tmp_path)
    images = read_images(tmp_path)
    np.testing.assert_array_equal(images.inputs, rows)
    assert images.classes == ("cat", "dog") and images.target.tolist() == [0, 1, 0, 1, 0, 1]
    assert images.names["image"][:5:4] == ("train-00000", "test-00000")
    (tmp_path / "train-001.webp").unlink()
    with pytest.raises(DataError, match=r"train needs a label for each image\. Got 2 images and 4 labels"):
        read_images(tmp_path)


def cifar(path, folder, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def test_the_binary_archive_of_cifar_10(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (6, 3, 32, 32), dtype=np.uint8)
    records = [bytes([row % 2]) + pixels[row].tobytes() for row in range(6)]
    files = {f"data_batch_{row + 1}.bin": records[row] for row in range(5)}
    path = tmp_path / "cifar-10-binary.tar.gz"
    cifar(path, "cifar-10-batches-bin", {**files, "test_batch.bin": records[5], "batches.meta.txt": b"cat\ndog\n\n"})
    images = read_images(path)
    np.testing.assert_array_equal(images.inputs, pixels.transpose(0, 2, 3, 1))
    assert images.classes == ("cat", "dog") and images.target.tolist() == [0, 1, 0, 1, 0, 1]
    assert images.official == ("train",) * 5 + ("test",)


def test_the_binary_archive_of_cifar_100_has_the_fine_classes(tmp_path, monkeypatch):
    path, pixels = tmp_path / "cifar-100-binary.tar.gz", bytes(3072)
    files = {"train.bin": b"\x07\x01" + pixels + b"\x07\x00" + pixels, "test.bin": b"\x09\x01" + pixels}
    cifar(path, "cifar-100-binary", {**files, "fine_label_names.txt": b"cat\ndog\n"})
    assert read_images(path).target.tolist() == [1, 0, 1]
    cifar(path, "cifar-100-binary", {**files, "test.bin": b"\x09", "fine_label_names.txt": b"cat\ndog\n"})
    with pytest.raises(DataError, match=r"records of 3074 bytes\. Got 1\. Fetch it again"):
        read_images(path)
    monkeypatch.setattr("multiway.data.sources.images.MAX_BYTES", 1000)
    with pytest.raises(DataError, match=r"gz: an archive may take 1,000 bytes\. This one takes 6,148\. "):
        read_images(path)
    path.write_bytes(path.read_bytes()[:80])
    with pytest.raises(DataError, match=r"it is no sound archive of CIFAR"):
        read_images(path)


@pytest.mark.parametrize("x", [np.zeros((2, 28, 28, 28), np.uint8), np.zeros((3, 4), np.uint8), [[1, 2]], "none.png"])
def test_what_holds_no_images(x):
    assert not looks_like_images((x, [0, 1]) if not isinstance(x, str) else x)
    with pytest.raises(DataError):
        read_images(x if isinstance(x, str) else (x, None))


def test_labels_of_an_archive_may_be_words_or_below_zero(tmp_path):
    np.savez(tmp_path / "words.npz", images=COLOURS, labels=np.array(["dog", "Ärger"]))
    words = read_images(tmp_path / "words.npz")
    assert [words.classes[label] for label in words.target] == ["dog", "Ärger"]
    np.savez(tmp_path / "below.npz", images=COLOURS, labels=np.array([-1, 1]))
    below = read_images(tmp_path / "below.npz")
    assert [below.classes[label] for label in below.target] == ["-1", "1"]
    np.savez(tmp_path / "gap.npz", images=COLOURS, labels=np.array(["dog", ""]))
    with pytest.raises(DataError, match=r"gap\.npz: 'labels' names no class for image 1\. Fill it in\."):
        read_images(tmp_path / "gap.npz")


def test_an_archive_says_what_it_lacks_and_how_to_fix_it(tmp_path):
    np.savez(tmp_path / "none.npz", images=COLOURS[:0], labels=np.arange(0))
    with pytest.raises(DataError, match=r"none\.npz, array 'images': it holds no images\. Give some\."):
        read_images(tmp_path / "none.npz")
    pixels = {"train_images": COLOURS, "test_images": COLOURS[:, :2]}
    np.savez(tmp_path / "two.npz", **pixels, train_labels=np.arange(2), test_labels=np.arange(2))
    with pytest.raises(DataError, match=r"one size\. Got .* Bring them to one \(read\.size=4 read\.channels=rgb\)\."):
        read_images(tmp_path / "two.npz")
    assert len(read_images(tmp_path / "two.npz", ImageOptions(size=4))) == 4


@pytest.mark.parametrize("label", [None, "", np.nan])
def test_arrays_say_which_image_has_no_class(label):
    with pytest.raises(DataError, match=r"y: every image needs a class\. Image 1 has none\. Fill it in\."):
        read_images((COLOURS, np.array(["dog", label], dtype=object)))


def test_arrays_of_several_sizes_are_refused():
    with pytest.raises(DataError, match=r"X: images must have one size\. Got \(2, 4, 3\), \(4, 4, 3\)\. Bring them"):
        read_images(([COLOURS[0], COLOURS[1, :2]], None))
