"""Where the data of a segmentation come from: a table, a scene, or a known name."""

from multiway.data.scenes import is_scene, read_scene
from multiway.data.volumes import read_cases
from multiway.tasks.segmentation.config import SegmentConfig
from multiway.tasks.segmentation.examples import Examples, examples_of_cases, examples_of_scene


def read_examples(
    source: str, config: SegmentConfig, values: tuple[int, ...] | None = None, *, split: bool = True
) -> Examples:
    """Read what `locate` found.

    Args:
        source: A path or the name of a known scene.
        config: How to read and split.
        values: Mask values that a trained model knows; found in the training masks if not given.
        split: Split the images; else all of them are in the one split "all".
    """
    if is_scene(source):
        return examples_of_scene(read_scene(source, config.read.max_bytes), config, values, split=split)
    cases = read_cases(source, config.read, config.split if split else None, same_sizes=False)
    return examples_of_cases(cases, config, values, split=split)
