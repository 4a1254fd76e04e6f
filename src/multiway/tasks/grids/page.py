"""What the report of a run on grids says: maps of truth, answer and error, and errors by lead."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from multiway.report import text
from multiway.report.attention import colour_png
from multiway.report.sections import Images, PagePart, Picture, Section, Table, Text
from multiway.tasks import pages
from multiway.tasks.grids.encode import GridState, PreparedGrid
from multiway.tasks.grids.explain import name_channels
from multiway.tasks.grids.model import blend_fields, in_words, module_of, shares_of
from multiway.tasks.grids.network import list_candidates
from multiway.tasks.lifecycle import if_there, reread
from multiway.tasks.protocol import OURS
from multiway.tasks.run import Run
from multiway.tasks.target_page import SplitPage

BLUE, PALE, RED, NONE = (np.array(each, float) for each in ((33, 102, 172), (247, 247, 247), (178, 24, 43), (205,) * 3))
"""Colours of low, middle and high values, and of cells without one."""
WORDS = {
    OURS: "the blend by lead",
    "season": "the season before",
    "damped": "damped persistence",
    "eof_ridge": "ridge on EOFs",
}
"""Models in words, where their names say too little."""
TITLES = {"times": "Times", "first": "First", "last": "Last"}


def draw_map(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.uint8]:
    """A field as red, green and blue, `(rows, columns, 3)`: from blue at the lowest to red at the highest."""
    place = np.nan_to_num(2 * (values - low) / max(high - low, 1e-300) - 1).clip(-1, 1)[..., None]
    colours = np.where(place < 0, PALE + place * (PALE - BLUE), PALE + place * (RED - PALE))
    return np.where(np.isfinite(values)[..., None], colours, NONE).round().astype(np.uint8)


def plane_of(state: GridState, field: NDArray[np.float32]) -> NDArray[np.float64] | None:
    """A field along rows and columns of the state's layout; north is up, and the first of all other axes is shown."""
    members, channels, shown = state.layout
    if len(shown) < 2:
        return None
    planes = np.transpose(field, (*members, *channels, *shown))
    plane: NDArray[np.float64] = planes[(0,) * len(members + channels)].astype(np.float64)
    axis = state.axes[shown[0]]
    return plane[::-1] if axis.role == "lat" and axis.values is not None and axis.values[0] < axis.values[-1] else plane


def field_part(run: Run) -> PagePart:
    """Maps of the last test field: the truth, and what was forecast of it over the shortest and the longest lead."""
    prepared = if_there(lambda: reread(run))
    content: list[Section | None] = [Text(words="Maps need the data, which could not be reread.")]
    if prepared is not None:
        pictures = list(field_pictures(run, prepared))
        content = [Images(pictures=pictures) if pictures else Text(words="One axis of space has no map.")]
    side = [
        "The last field of the test, what was forecast of it, and how far that is off.",
        "Red is high and blue is low; of an error, red is too high. Grey cells have no value.",
    ]
    return PagePart(id="maps", title="Maps", content=[*content, lead_table(run)], side=side)


def field_pictures(run: Run, prepared: PreparedGrid) -> Iterator[Picture]:
    """The truth, and for two leads answer and error."""
    state, last, horizon = run.state, len(prepared.values) - 1, run.config.horizon
    truth = plane_of(state, state.spread(prepared.values[-1:])[0])
    if truth is None or not np.isfinite(truth).any():
        return
    module, shares = module_of(run), shares_of(run)
    low, high = float(np.nanmin(truth)), float(np.nanmax(truth))
    scale, when = f"{low:.4g} to {high:.4g}{state.suffix}", prepared.cube.times.words()[-1]
    when += f", {name_channels(state)[0]}" if state.planes[1] > 1 else ""
    yield Picture(f"Truth, {when}", [colour_png(draw_map(truth, low, high))], scale)
    for lead in dict.fromkeys((1, horizon)):
        field = blend_fields(module, module.floors, prepared, last - lead, shares)[lead - 1 : lead]
        answer = plane_of(state, state.spread(field)[0])
        assert answer is not None
        off = answer - truth
        reach = float(np.nanmax(np.abs(off)))
        yield Picture(f"Answer, lead {lead}", [colour_png(draw_map(answer, low, high))], scale)
        within = f"within {reach:.3g}{state.suffix}"
        yield Picture(f"Error, lead {lead}", [colour_png(draw_map(off, -reach, reach))], within)


def lead_table(run: Run) -> Table:
    """Test error of the answer and of every candidate by lead, and what the answer is made of."""
    rows = run.tables["errors"].query("split == 'test'")
    candidates = list_candidates(run.config, run.state)
    names, scores = (OURS, *candidates), SUBJECT.scores([run])
    decimals = text.decimals_for(rows[f"rmse_{OURS}"])
    cells = [
        [str(row["lead"]), *(text.number(float(row[f"rmse_{name}"]), decimals) for name in names)]
        for row in rows.to_dict("records")
    ]
    for row, shares in zip(cells, rows.filter(like="share_").to_numpy(), strict=True):
        row.append(scores.name_models(in_words(candidates, shares)))
    heads = ["Lead", *(scores.name(name) for name in names), "Made of"]
    return Table(title="RMSE by lead on the test times", columns=heads, rows=cells)


def headline(subject: pages.Subject, run: Run) -> str:
    """How far the answer is off, compared with persistence."""
    scores = subject.scores([run])
    own, other = scores.get(run.task.score_name(run), "rmse"), scores.get("persistence", "rmse")
    names, verb = " and ".join(run.state.targets), "is" if len(run.state.targets) == 1 else "are"
    start = f"{text.sentence_case(names)} {verb} off by {text.figure(own.number)}{run.state.suffix} (RMSE)"
    share = text.percent(100 * abs(1 - own.number / other.number), 0)
    return f"{start} by area, {share} {'less' if own.number < other.number else 'more'} than the last field repeated."


SUBJECT = pages.Subject(
    kicker="Report on a grid",
    models=WORDS,
    rows="times",
    setting=lambda run: {
        "Context": str(run.config.context),
        "Horizon": str(run.config.horizon),
        "Grid": " × ".join(str(axis.size) for axis in run.state.axes),
        "Season": f"{run.state.period} times" if run.state.period > 1 else "none",
    },
    about=[
        "Cells count by their area, those without a value not at all. Climatology is that of times before the test."
    ],
)
PAGE = SplitPage(SUBJECT, lambda runs: [field_part(runs[0])], titles=TITLES, total="times", headline=headline)
