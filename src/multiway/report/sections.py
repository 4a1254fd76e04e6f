"""What a page of the report is made of: parts, each a list of sections, all plain values.

Words come escaped and cleaned onto the page; markup is only what the chart engine and the PNG writer return.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from markupsafe import Markup

from multiway.report.attention import Film, MapFigure
from multiway.report.charts import Drawing
from multiway.report.forecasts import Group
from multiway.report.scales import Tick

Legend = Sequence[tuple[str, str]]
"""Names, each with the style of its line ("s0") or of its patch ("b0")."""


class TableCell(NamedTuple):
    """One cell of a table.

    small: Set under the text in a smaller size: an interval, a share.
    swatch: Style of what stands before the text: a line "s0", a patch "f0" or "b0", a chip "k0".
    tag: A word in a frame after the text.
    style: Classes of the style sheet: "left", "right" and "wrong" for shades of agreement.
    shade: How strongly "right" or "wrong" is shaded, from 0 to 1.
    width: Of a bar drawn in place of the text, in percent.
    title: Shown under the pointer.
    rest: Of a long text what follows `text`, folded.
    """

    text: str = ""
    small: str = ""
    is_best: bool = False
    swatch: str = ""
    tag: str = ""
    style: str = ""
    shade: float = 0.0
    width: float | None = None
    title: str = ""
    rest: str = ""


class Bar(NamedTuple):
    """One bar; widths and places are in percent, `marks` are (label, colour, place, value) of others on its track.

    low, span: Where its interval begins and how long it is; none for a span of 0.
    """

    name: str
    value: str
    width: float
    colour: int = 0
    is_strong: bool = False
    low: float = 0.0
    span: float = 0.0
    marks: Sequence[tuple[str, int, float, str]] = ()


class Fact(NamedTuple):
    """A label, a value, and a remark in a smaller size."""

    label: str
    value: str
    remark: str = ""


class CheckLine(NamedTuple):
    """One finding of a check: how grave, what, where, and what can be done about it."""

    severity: str
    message: str
    where: str = ""
    fix: str = ""


class Picture(NamedTuple):
    """PNGs on top of each other, as data URIs, and what stands below.

    explained: The same with what explains it, drawn next to it.
    outlines: Drawn over them, as (class of the style sheet, data of a path in voxels); `sizes` are rows and columns.
    """

    title: str
    layers: Sequence[Markup]
    remark: str = ""
    explained: Sequence[Markup] = ()
    outlines: Sequence[tuple[str, Markup]] = ()
    sizes: tuple[int, int] = (1, 1)


class Text(NamedTuple):
    """Words: a paragraph, a remark in a smaller size, a heading, or a warning."""

    words: str
    style: Literal["support", "note", "heading", "warning", "none"] = "note"


class Code(NamedTuple):
    """A command, whole however long."""

    words: str


class FactList(NamedTuple):
    """Labels and values: large figures, small ones side by side, or a list."""

    items: Sequence[Fact]
    style: Literal["figures", "setting", "listing"] = "setting"


class Table(NamedTuple):
    """Rows of cells, the first of each its head; what is wider than the page scrolls in its box.

    columns: Heads, the first over the rows' names.
    groups: (title, number of columns) over the heads, from the first column on.
    strong: Rows set in bold.
    fold: Words that open the table, which is closed at first.
    style: Classes of the style sheet: "numbers" aligns figures, "words" wraps them, "confusion" centres, "stacked" puts
        the cells of a row below each other on a narrow screen.
    """

    columns: Sequence[TableCell | str]
    rows: Sequence[Sequence[TableCell | str]]
    title: str = ""
    groups: Sequence[tuple[str, int]] = ()
    strong: Sequence[int] = ()
    note: str = ""
    fold: str = ""
    style: str = "numbers"


class Chart(NamedTuple):
    """A drawing of the chart engine with its legend."""

    drawing: Drawing
    title: str = ""
    legend: Legend = ()
    note: str = ""
    is_square: bool = False


class Bars(NamedTuple):
    """One bar per name, all but the first of them folded away; `legend` is (name, class of the style sheet)."""

    title: str
    bars: Sequence[Bar]
    remark: str = ""
    legend: Legend = ()
    note: str = ""
    first: int = 24


class Values(NamedTuple):
    """Figures of several series over one axis, to read, copy and download as CSV.

    axis: Its name and its places: ("ds", ["2024-01-01", ...]).
    columns: Names of the figures of a place.
    rows: By series, its figures place after place; as many names of series as `rows` are shown to choose from.
    file: Name that a download takes.
    """

    axis: tuple[str, Sequence[str]]
    columns: Sequence[str]
    rows: Mapping[str, Sequence[Sequence[str]]]
    file: str
    title: str = ""
    note: str = ""


class Panels(NamedTuple):
    """Charts of forecasts in groups, with a selector of the group and a search by name.

    values: Their figures, to copy and download next to the search.
    """

    groups: Sequence[Group]
    values: Values | None = None


class Images(NamedTuple):
    """Pictures side by side."""

    pictures: Sequence[Picture]


class Planes(NamedTuple):
    """One volume in three planes with sliders."""

    name: str
    films: Sequence[Film]
    remark: str = ""
    sentence: str = ""
    is_wrong: bool = False

    @property
    def overlays(self) -> list[str]:
        """What can be laid over the volume."""
        return list(self.films[0].overlays)


class HeatMaps(NamedTuple):
    """Attention per mode, with a selector of layer and head."""

    figures: Sequence[MapFigure]


class Timeline(NamedTuple):
    """Stretches along time, each with its name, left end and width in percent."""

    blocks: Sequence[tuple[str, float, float]]
    ticks: Sequence[Tick]


class CheckLines(NamedTuple):
    """What a check found; empty says that it found nothing."""

    findings: Sequence[CheckLine] = ()


class Marked(NamedTuple):
    """A text whose words are shaded: towards 1 what speaks for the answer, towards -1 against it.

    rest: Those that are folded.
    """

    words: Sequence[tuple[str, float]]
    rest: Sequence[tuple[str, float]] = ()
    note: str = ""


class CaseAnswer(NamedTuple):
    """One answer under its name, and the sections that explain it."""

    name: str
    sentence: str
    is_wrong: bool = False
    content: Sequence["Section"] = ()


Section = (
    Text
    | Code
    | FactList
    | Table
    | Chart
    | Bars
    | Panels
    | Values
    | Images
    | Planes
    | HeatMaps
    | Timeline
    | CheckLines
    | Marked
    | CaseAnswer
)


class PagePart(NamedTuple):
    """One numbered part of the page, with its explanation at the side; without content it is left out.

    id: Of the link to it, unique on the page.
    content: None stands for a section that there is no content for.
    side: Paragraphs, or swatches of what they explain as (class of the style sheet, words).
    lead: What it comes to, in one sentence over the content; `support` is what it should be read with.
    is_method: Whether it says how the answer was made: such parts stand last, folded.
    """

    id: str
    title: str
    content: Sequence[Section | None]
    side: Sequence[str | tuple[str, str]] = ()
    lead: str = ""
    support: Sequence[str] = ()
    is_method: bool = False


class Page(NamedTuple):
    """One report; its first part is what the reader came for.

    title: Name of the data and of what was learnt of them.
    kicker: Kind of the report.
    source, created: Where the data came from, and when.
    """

    title: str
    kicker: str
    parts: Sequence[PagePart | None] = ()
    source: str = ""
    created: str = ""
