"""`read_images`: from a folder, a file or arrays to images of one size."""

from pathlib import Path
from typing import Any

from multiway.data.failures import Failures
from multiway.data.findings import quoted
from multiway.data.images.archives import has_axes, is_archive, read_archive
from multiway.data.images.cifar import is_cifar, read_cifar
from multiway.data.images.folders import found_in, read_folder
from multiway.data.images.images import Images
from multiway.data.images.memory import images_of_arrays
from multiway.data.images.options import ImageOptions
from multiway.data.images.pictures import is_picture, read_head, read_pictures
from multiway.data.images.strips import is_strips, read_strips
from multiway.data.loading import pair_of
from multiway.errors import ConfigError, DataError

FORMS = "Give a folder per class, a .npz of images and labels, or an image."


def read_images(source: Any, options: ImageOptions | None = None, failures: Failures | None = None) -> Images:
    """Read images and, where there are any, their classes.

    Args:
        source: A folder of images or of strips, a .npz, an archive of CIFAR, one image, or arrays `(X, y)` or X.
        options: Size and colours.
        failures: Keeps what is wrong with single files; without it the first is raised.

    Raises:
        DataError: A flaw that no option covers, in one line.
    """
    options = options or ImageOptions()
    if isinstance(source, Images):
        return source
    if not isinstance(source, str | Path):
        return images_of_arrays(*pair_of(source), options)
    path = Path(source)
    if path.is_dir():
        return read_strips(path, options) if is_strips(path) else read_folder(path, options, failures)
    if not path.is_file():
        raise DataError(f"{quoted(path, 200)} does not exist. {FORMS}")
    return _read_file(path, options)


def _read_file(path: Path, options: ImageOptions) -> Images:
    if path.suffix.lower() == ".npz":
        return read_archive(path, options)
    if is_cifar(path):
        return read_cifar(path, options)
    if not is_picture(path):
        raise DataError(f"{quoted(path.name, 80)}: it is no file of images. {FORMS}")
    values, _, notes = read_pictures([path], [path.name], options)
    return Images(values=values, labels=None, classes=(), names=(path.name,), source=quoted(path.name, 80), notes=notes)


def looks_like_images(source: Any) -> bool:
    """Whether a folder, a file or an array holds images, by names and heads alone."""
    if not isinstance(source, str | Path):
        x = pair_of(source)[0]
        return getattr(x, "dtype", None) == "uint8" and has_axes(x.shape)
    path = Path(source)
    try:
        if path.is_dir():
            return is_strips(path) or any(is_picture(found.path) for found in found_in(path))
        if path.suffix.lower() == ".npz":
            return path.is_file() and is_archive(path)
        return is_cifar(path) or (path.is_file() and is_picture(path) and bool(read_head(path, path.name).frames))
    except (ConfigError, DataError):
        return False
