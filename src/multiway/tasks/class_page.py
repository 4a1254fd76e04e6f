"""The report of tasks on the classes of samples."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from multiway.report.sections import Part
from multiway.tasks import pages
from multiway.tasks.class_parts import target_parts
from multiway.tasks.run import Run
from multiway.tasks.split_page import SplitPage, no_parts

TITLES = {"samples": "Samples", "groups": "Groups", "classes": "Classes"}


def class_page(subject: pages.Subject, more: Callable[[Sequence[Run]], Iterable[Part]] = no_parts) -> SplitPage:
    """What a run on samples with classes says of itself: errors, calibration, splits, and more parts after them."""

    def parts(runs: Sequence[Run]) -> Iterator[Part]:
        yield from target_parts(subject, runs, runs[0].state.classes)
        yield from more(runs)

    return SplitPage(subject, parts, titles=TITLES, total="samples")
