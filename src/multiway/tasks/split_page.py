"""The report of tasks whose samples are split."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

from multiway.report.scores import verdict
from multiway.report.sections import Part
from multiway.tasks import pages
from multiway.tasks.comparing import comparison
from multiway.tasks.page_parts import split_table
from multiway.tasks.run import Run
from multiway.tasks.run_names import Groups

SIDE = ["Fitted on the first, chosen on the second, scored once on the last."]


def no_parts(runs: Sequence[Run]) -> Iterable[Part]:
    """Nothing more."""
    return ()


@dataclasses.dataclass(frozen=True)
class SplitPage:
    """What a run says of itself: its splits, and the parts of its task.

    SUBJECT: What the pages have to know of the task.
    parts: Those of the task alone.
    titles: Facts of a split that are shown, and their heads.
    total: The fact that counts by name are shares of.
    shares: Other facts that are printed with their share.
    """

    SUBJECT: pages.Subject
    parts: Callable[[Sequence[Run]], Iterable[Part]] = no_parts
    _: dataclasses.KW_ONLY
    titles: Mapping[str, str]
    total: str
    shares: Sequence[str] = ()

    def report(self, runs: Sequence[Run]) -> str:
        """The HTML report of runs that differ in their seed; the first is shown in detail."""
        table = split_table(runs[0].facts["splits"], self.titles, total=self.total, shares=self.shares)
        splits = Part(id="splits", title="Splits", side=SIDE, content=[table])
        summary = pages.Summary(verdict=verdict(self.SUBJECT.scores(runs)), splits=splits)
        return pages.report(self.SUBJECT, runs, summary, self.parts(runs))

    def compare(self, groups: Groups) -> str:
        """Groups of runs side by side."""
        return comparison(self.SUBJECT, groups)
