"""The report of tasks on the classes of samples."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence

from multiway.report.scores import verdict
from multiway.report.sections import Part
from multiway.tasks import pages
from multiway.tasks.class_parts import target_parts
from multiway.tasks.comparing import Groups, comparison
from multiway.tasks.page_parts import split_table
from multiway.tasks.run import Run

SIDE = ["Fitted on the first, chosen on the second, scored once on the last."]
TITLES = {"samples": "Samples", "groups": "Groups", "classes": "Classes"}


def no_parts(runs: Sequence[Run]) -> Iterable[Part]:
    """Nothing more."""
    return ()


@dataclasses.dataclass(frozen=True)
class ClassPage:
    """What a run on samples with classes says of itself: errors, calibration, splits.

    SUBJECT: What the pages have to know of the task.
    parts: More parts, after those on errors.
    """

    SUBJECT: pages.Subject
    parts: Callable[[Sequence[Run]], Iterable[Part]] = no_parts

    def report(self, runs: Sequence[Run]) -> str:
        """The HTML report of runs that differ in their seed; the first is shown in detail."""
        table = split_table(runs[0].facts["splits"], TITLES, total="samples")
        splits = Part(id="splits", title="Splits", side=SIDE, content=[table])
        summary = pages.Summary(verdict=verdict(self.SUBJECT.scores(runs)), splits=splits)
        return pages.report(self.SUBJECT, runs, summary, self._shown(runs))

    def compare(self, groups: Groups) -> str:
        """Groups of runs side by side."""
        return comparison(self.SUBJECT, groups)

    def _shown(self, runs: Sequence[Run]) -> Iterator[Part]:
        yield from target_parts(self.SUBJECT, runs, runs[0].state.classes)
        yield from self.parts(runs)
