"""Audit of a set of images with masks, or of a scene that is cut into blocks."""

from multiway.auditing import AuditReport
from multiway.auditing.scans import Images, title_of, torn_cases
from multiway.data.datasets import locate
from multiway.data.masks.examples import examples_of_cases, read_examples
from multiway.data.masks.patches import fit_scale
from multiway.data.scenes import is_scene
from multiway.data.volumes import read_cases
from multiway.tasks.run import Run
from multiway.tasks.segmentation.config import SegmentConfig


def audit(config: SegmentConfig, run: Run | None = None) -> AuditReport:
    """Whether images or patients are in two splits, one image has two masks, and scaling or the grid gives them away.

    Raises:
        DataError: The data cannot be read, or training would refuse it for another reason than torn patients.
    """
    source = locate(config.data or "")
    torn = cases = None
    if not is_scene(source):
        torn = torn_cases(source, config.read)
        cases = torn or read_cases(source, config.read, config.split, same_sizes=False)
    examples = read_examples(source, config) if cases is None else examples_of_cases(cases, config)
    images = Images(examples.names, examples.patients, examples.splits, "image")
    used = {int(row) for rows in examples.splits.values() for row in rows}
    numbers: dict[bytes, int] = {}
    marked: list[str] = []
    for row in range(len(examples.names)):
        example = examples.read(row)
        mask = f"mask {numbers.setdefault(example.target.tobytes(), len(numbers))}"
        marks = example.target > 0
        images.add(example.values, mask, is_used=row in used, marked=marks if examples.background else None)
        marked.append("marked" if marks.any() else "empty")
    scale = None if torn is not None else run.state.scale if run is not None else fit_scale(examples, config.read)
    told, target = marked if examples.background else (), "whether a mask is empty"
    title = title_of(examples.source, examples.splits, "blocks" if cases is None else "images")
    return AuditReport.of(title, images.verdicts(cases, scale, config.read, told, target))
