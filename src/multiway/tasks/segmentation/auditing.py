"""Audit of a set of images with masks, or of a scene that is cut into blocks."""

from collections.abc import Iterator

from multiway.auditing import AuditReport, Verdict
from multiway.auditing.duplicates import digest_of
from multiway.auditing.painted import Paint
from multiway.auditing.report import found
from multiway.auditing.scans import (
    NOT_SCALED,
    Moments,
    Traces,
    check_copies,
    check_files,
    check_grid,
    check_patients,
    check_scale,
    title_of,
    torn_cases,
)
from multiway.data.datasets import locate
from multiway.data.scenes import is_scene
from multiway.data.volumes import Cases, IntensityScale, read_cases
from multiway.tasks.run import Run
from multiway.tasks.segmentation.config import SegmentConfig
from multiway.tasks.segmentation.examples import Examples, examples_of_cases
from multiway.tasks.segmentation.patches import fit_scale
from multiway.tasks.segmentation.sources import read_examples

BLOCKS = "blocks of one scene share no pixel, but neighbours look alike: scores hold for this scene alone"


def audit(config: SegmentConfig, run: Run | None = None) -> AuditReport:
    """Whether images or patients are in two splits, one image has two masks, and scaling or the grid gives them away.

    Raises:
        DataError: The data cannot be read, or training would refuse it for another reason than torn patients.
    """
    source = locate(config.data or "")
    if is_scene(source):
        return _report(read_examples(source, config), None, config, run, is_torn=False)
    torn = torn_cases(source, config.read)
    cases = torn or read_cases(source, config.read, config.split, same_sizes=False)
    return _report(examples_of_cases(cases, config), cases, config, run, is_torn=torn is not None)


def _report(
    examples: Examples, cases: Cases | None, config: SegmentConfig, run: Run | None, *, is_torn: bool
) -> AuditReport:
    scale = None if is_torn else run.state.scale if run is not None else fit_scale(examples, config.read)
    title = title_of(examples.source, examples.splits, "blocks" if cases is None else "images")
    return AuditReport.of(title, _verdicts(examples, cases, config, scale))


def _verdicts(
    examples: Examples, cases: Cases | None, config: SegmentConfig, scale: IntensityScale | None
) -> Iterator[Verdict | None]:
    images: list[bytes | None] = []
    masks: list[str] = []
    numbers: dict[bytes, int] = {}
    marked: list[str] = []
    moments, traces, paint = Moments(), Traces(), Paint()
    used = {int(row) for rows in examples.splits.values() for row in rows}
    for row in range(len(examples.names)):
        example = examples.read(row)
        images.append(digest_of(example.values) if row in used else None)
        masks.append(f"mask {numbers.setdefault(example.target.tobytes(), len(numbers))}")
        marked.append("marked" if (example.target > 0).any() else "empty")
        moments.add(example.values)
        traces.add(example.values)
        if examples.background:
            paint.add(example.values, example.target > 0)
    yield check_patients(examples.patients, examples.splits) if cases else found("blocks", "note", BLOCKS)
    yield check_files(cases) if cases else None
    yield from check_copies(images, masks, examples.names, examples.splits, "image")
    yield paint.check()
    if cases is not None and examples.background:
        yield from traces.check(cases, images, marked, "whether a mask is empty")
        yield check_grid(cases, marked, "whether a mask is empty")
    yield NOT_SCALED if scale is None else check_scale(scale, moments, examples.splits["train"], config.read)
