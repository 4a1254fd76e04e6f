"""Schema of what a stored run says of its images."""

from multiway.tasks.stored import Facts


class SegmentFacts(Facts):
    """Cases by split, sizes of an image, and the unit of distances."""

    splits: dict[str, int]
    sizes: list[int]
    distance: str
