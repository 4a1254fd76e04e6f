"""Images with classes: read, checked, split and normalised."""

from typing import TYPE_CHECKING

from multiway.data.images.checking import check_images as check_images
from multiway.data.images.images import Images as Images
from multiway.data.images.options import ImageAugmentation as ImageAugmentation
from multiway.data.images.options import ImageOptions as ImageOptions
from multiway.data.images.options import ImageSplit as ImageSplit
from multiway.data.images.reading import looks_like_images as looks_like_images
from multiway.data.images.reading import read_images as read_images
from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.data.images.augmentation import Augmented as Augmented
    from multiway.data.images.prepared import ImageState as ImageState
    from multiway.data.images.prepared import PreparedImages as PreparedImages
    from multiway.data.images.prepared import match_images as match_images
    from multiway.data.images.prepared import moments as moments
    from multiway.data.images.prepared import prepare_images as prepare_images

__getattr__ = lazily(
    __name__,
    {
        "multiway.data.images.augmentation": ("Augmented",),
        "multiway.data.images.prepared": (
            "ImageState", "PreparedImages", "match_images", "moments", "prepare_images",
        ),
    },
)  # fmt: skip
