"""`python -m docs.build.claims_page`: print a line per claim of the papers, and all printed figures beside ours."""

import itertools
import json
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from docs.build.results_page import RESULTS, ROOT, command_of, markdown, read_rows, recipe_rows, short

from multiway.config import load_yaml
from multiway.tasks.protocol import Row
from multiway.workflows.recipe import Recipe, load_recipe
from multiway_papers.cells import recipe_names, table_names
from multiway_papers.printed import HIGHER_IS_BETTER, Printing
from multiway_papers.verdicts import (
    DIGITS,
    Difference,
    difference_of_means,
    difference_of_rows,
    seed_values,
    verdicts,
)

FOLDER = ROOT / "docs" / "papers"
CLAIMS, COSTS = FOLDER / "claims.yaml", RESULTS / "costs.jsonl"
VERDICTS = ("holds", "does not", "leaks", "untested")
OWN = {"adrenal", "floor", "peers", "segmentation", "tga-controls"}
CUT = {
    "ndlinear-figure-17",
    "ndlinear-opt",
    "ndlinear-table-7-small",
    "ndlinear-table-7-teacher",
    "ndlinear-table-7-tenth",
    "short-hot-tables-3-5",
}
"""Tables of recipes that are cut down themselves: fewer epochs, a narrower network or less text than print has."""
HEAD = """## Claims

One line per claim. A figure is the difference of two rows, or of a row and its printed figure, with its 95 % interval
over seeds: other seeds, the same test rows.
"""
SECTIONS = {
    "paper": ("In the paper's form", "Networks as printed; data, split and what print leaves open as the recipe says."),
    "own": ("In our own form", "Other forms of the network, or another training."),
    "short": ("Cut short", "Fewer epochs or samples than the whole training has; these rows decide no claim."),
}
HEADS = ("recipe", "score", "printed", "ours", "seeds", "difference, 95 % interval", "verdict")


OWN_TRAINING = "our training"
"""What the variant of a recipe says whose training is not print's."""
COUNTED = """{} of {} cells in the papers' form have rows: {} of the whole training, {} cut short.
These are the recipes that name the form `paper`; those of NdLinear and TGA have one form alone. Cells with the same
runs share a row, and stocks have MiniLM for FinBERT."""
LEFT = """{} cells of the papers' form have no row of the whole training, {} of them for want of data or weights. What
can be run takes some {} hours of two cores: seconds of a step on one thread, times the steps of all epochs and seeds,
two seeds at once (`python -m benchmarks.costs --out results/costs.jsonl`). `≤` where training may stop early; a batch
is named where steps of another are timed.
Validation and scoring come on top; of a frozen encoder that is not here, hashed words stand in."""


class Claim(NamedTuple):
    """A claim of a text, its verdict, and what says so: two rows, one row and print, or a test."""

    paper: str
    claim: str
    where: str
    verdict: str
    words: str
    row: str | None = None
    against: str | None = None
    metric: str | None = None
    direction: str | None = None
    command: str | None = None
    test: str | None = None


def main() -> None:
    """Print the lines."""
    print(page(), end="")


def page() -> str:
    """What the site shows under docs/papers/README.md."""
    return "\n".join([HEAD, *_claim_lines(), *_count_lines(), *_row_lines(), *_left_lines()]) + "\n"


def claims() -> list[Claim]:
    """All of them, in the order of the texts."""
    given = load_yaml(CLAIMS)
    return [Claim(paper=paper, **fields) for paper, lines in given.items() for fields in lines]


def difference_of(claim: Claim, rows: dict[str, Row]) -> Difference | None:
    """What the claim's figure is; None without a row, or with too few seeds."""
    if claim.row is None or claim.metric is None or claim.row not in rows:
        return None
    row = rows[claim.row]
    if claim.against is not None:
        other = rows.get(claim.against)
        return difference_between(row, other, claim.metric) if other else None
    stated, name = verdicts(row, load_recipe(claim.row)), f"{claim.metric}_difference"
    parts = (name, f"{name}_low", f"{name}_high", f"{claim.metric}_printed_spread")
    return Difference(*(stated[part] for part in parts)) if name in stated else None


def difference_between(row: Row, other: Row, metric: str) -> Difference | None:
    """What one row has more than another: by the scores of seeds, or, where these are not kept, by their deviation."""
    values, others = (seed_values(each, metric) for each in (row, other))
    if values or f"{metric}_sd" not in row or f"{metric}_sd" not in other:
        return difference_of_rows(values, others)
    return difference_of_means(
        *(Printing(each[metric], each[f"{metric}_sd"], each["seeds"], DIGITS) for each in (row, other))
    )


def _claim_lines() -> Iterator[str]:
    rows = recipe_rows()
    yield from markdown(["paper", "claim", "where", "verdict", "figure", "command"])
    for claim in claims():
        figure = ", ".join(filter(None, (_figure(claim, rows), claim.words)))
        made = "; ".join(f"`{each}`" for each in commands_of(claim, rows))
        cells = [claim.paper, claim.claim, claim.where, f"**{claim.verdict}**", figure, made]
        yield f"| {' | '.join(cells)} |"
    yield ""


def commands_of(claim: Claim, rows: dict[str, Row]) -> list[str]:
    """What says so: other commands, the test, and what measures its rows again, at once where they are of one table."""
    found = [rows[name] for name in (claim.row, claim.against) if name in rows]
    measured = [shlex.split(command_of(load_recipe(row["recipe"]), row)) for row in found]
    return [*filter(None, (claim.command, claim.test)), *(shlex.join(words) for words in _joined(measured))]


def _joined(commands: list[list[str]]) -> list[list[str]]:
    """Two commands that differ in one choice of cells as one with both choices."""
    if len(commands) < 2 or len(commands[0]) != len(commands[1]):
        return commands
    pairs = list(zip(*commands, strict=True))
    apart = [place for place, (one, other) in enumerate(pairs) if one != other]
    if len(apart) != 1 or pairs[apart[0] - 1][0] not in ("--rows", "--variants"):
        return commands
    return [[one if one == other else f"{one},{other}" for one, other in pairs]]


def _figure(claim: Claim, rows: dict[str, Row]) -> str:
    if claim.row is None or claim.row not in rows:
        return ""
    value = f"{claim.metric} {short(rows[claim.row][claim.metric])} (`{claim.row}`)"
    found = difference_of(claim, rows)
    other = f"`{claim.against}`" if claim.against else "print"
    return f"{value}; {interval(found)} to {other}" if found else value


def interval(found: Difference) -> str:
    """A difference and its interval."""
    return f"{_signed(found.value)} ({_signed(found.low)} to {_signed(found.high)})"


def _signed(value: float) -> str:
    return f"{value:+.3f}" if abs(value) < 10 else f"{value:+.1f}"


def _row_lines() -> Iterator[str]:
    """The rows with printed figures by their kind; the commands stand on the page of results."""
    rows = recipe_rows()
    recipes = {name: load_recipe(name) for name in rows}
    kinds = {name: kind_of(recipes[name], row) for name, row in rows.items()}
    for kind, (title, words) in SECTIONS.items():
        names = [
            name for table in table_names() for name in rows if kinds[name] == kind and recipes[name].table == table
        ]
        lines = [line for name in names for line in _lines_of(name, rows[name], kind)]
        if lines:
            yield from (f"## {title}", "", f"{words} [results.md](../results.md) has the commands.", "")
            yield from markdown([*HEADS[:1], *(["epochs"] if kind == "short" else []), *HEADS[1:]])
            yield from [*lines, ""]


def measured() -> dict[str, Row]:
    """The row of each cell that has one, or of another cell with the same runs."""
    rows = recipe_rows()
    by_runs = {_runs_of(name): row for name, row in rows.items()}
    found = {name: rows.get(name) or by_runs.get(_runs_of(name)) for name in recipe_names()}
    return {name: row for name, row in found.items() if row is not None}


def _runs_of(name: str) -> str:
    recipe = load_recipe(name)
    return json.dumps([recipe.task, recipe.settings_of_runs()], sort_keys=True)


class Count(NamedTuple):
    """Cells in the papers' form: all, those with a row of the whole training, and those whose row was cut short."""

    cells: int
    whole: int
    short: int


def count() -> Count:
    """How many recipes name the form `paper` and are not of our own training, and how many of these have rows."""
    recipes = {name: recipe for name in recipe_names() if is_of_paper(recipe := load_recipe(name))}
    rows = {name: row for name, row in measured().items() if name in recipes}
    short_ones = sum(kind_of(recipes[name], row) == "short" for name, row in rows.items())
    return Count(len(recipes), len(rows) - short_ones, short_ones)


def is_of_paper(recipe: Recipe) -> bool:
    """Whether a recipe names the form `paper` and no training of ours."""
    return recipe.form == "paper" and OWN_TRAINING not in (recipe.variant or "")


def _count_lines() -> Iterator[str]:
    found = count()
    yield from (COUNTED.format(found.whole + found.short, found.cells, found.whole, found.short), "")


def left() -> dict[str, Recipe]:
    """Recipes of the papers' form without a row of the whole training."""
    rows = measured()
    recipes = {name: load_recipe(name) for name in recipe_names()}
    return {
        name: recipe
        for name, recipe in recipes.items()
        if kind_of(recipe) == "paper" and (name not in rows or kind_of(recipe, rows[name]) == "short")
    }


def _left_lines() -> Iterator[str]:
    """What cells left cost or lack: a line for each table, data set, reason and number of seeds."""
    costs = {row["cell"]: row for row in read_rows(COSTS)}
    groups = dict[tuple[str, ...], dict[str, Row]]()
    for name, recipe in left().items():
        row = costs[name]
        place = (recipe.table, recipe.data or "–", row.get("missing", "–"), str(row.get("seeds", "–")))
        groups.setdefault(place, {})[name] = row
    rows = [row for cells in groups.values() for row in cells.values()]
    hours = round(sum(row.get("hours_of_2_cores", 0) for row in rows))
    yield from ("## Not run", "", LEFT.format(len(rows), sum("missing" in row for row in rows), hours), "")
    yield from markdown(["table", "data", "lacks", "seeds", "cells, hours of two cores"])
    yield from (f"| {' | '.join((*place, _cells(cells)))} |" for place, cells in sorted(groups.items()))


def _cells(cells: dict[str, Row]) -> str:
    """Names after what they share, each with its hours."""
    parts = zip(*(f"{name}-".split("-") for name in cells), strict=False)
    shared = "".join(f"{each[0]}-" for each in itertools.takewhile(lambda each: len({*each}) == 1, parts))
    if len(cells) == 1 or not shared:
        return ", ".join(f"`{name}`{_hours(row)}" for name, row in cells.items())
    return f"`{shared}`: {', '.join(f'{name[len(shared) :]}{_hours(row)}' for name, row in cells.items())}"


def _hours(row: Row) -> str:
    if "seeds" not in row:
        return ""
    hours = row["hours_of_2_cores"]
    batch = f" (batches of {row['batch_size']})" if "batch_size" in row else ""
    return f" {'≤ ' if row['at_most'] else ''}{short(hours, 1 if hours >= 1 else 2)}{batch}"


def kind_of(recipe: Recipe, row: Row | None = None) -> str:
    """`short`, `own` or `paper`; without a row, what a whole one would be."""
    epochs = recipe.settings.get("training", {}).get("epochs", 0)
    is_cut = row is not None and (row["settings"]["training"]["epochs"] < epochs or _first_of(recipe, row))
    if is_cut or recipe.table in CUT:
        return "short"
    return (
        "own"
        if recipe.table in OWN or recipe.form not in (None, "paper") or OWN_TRAINING in (recipe.variant or "")
        else "paper"
    )


def _lines_of(name: str, row: Row, kind: str) -> Iterator[str]:
    recipe, stated = load_recipe(name), verdicts(row, load_recipe(name))
    for metric, printed in recipe.of_row(row).figures.items():
        if metric not in HIGHER_IS_BETTER or row.get(metric) is None:
            continue
        epochs = [_epochs(recipe, row)] if kind == "short" else []
        figures = [metric, short(printed), short(row[metric]), str(row["seeds"])]
        cells = [f"`{name}`", *epochs, *figures, *_verdict(stated, metric)]
        yield f"| {' | '.join(cells)} |"


def _epochs(recipe: Recipe, row: Row) -> str:
    """How many a row has of those of its recipe, and of how many samples where it has not all."""
    first = _first_of(recipe, row)
    samples = f", first {first:,} of each split" if first else ""
    return f"{row['settings']['training']['epochs']} of {recipe.settings['training']['epochs']}{samples}"


def _first_of(recipe: Recipe, row: Row) -> int | None:
    """As many samples of each split as a row was cut to; None where its recipe has no more."""
    first: int | None = row["settings"].get("read", {}).get("first")
    return None if first == recipe.settings.get("read", {}).get("first") else first


def _verdict(stated: Row, metric: str) -> tuple[str, str]:
    name = f"{metric}_difference"
    if name not in stated:
        return "–", "no interval"
    found = Difference(stated[name], stated[f"{name}_low"], stated[f"{name}_high"], stated[f"{metric}_printed_spread"])
    spread = "" if found.has_printed_spread else ", print as exact"
    return interval(found) + spread, str(stated[f"{metric}_verdict"])


if __name__ == "__main__":
    main()
