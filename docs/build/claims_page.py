"""`python -m docs.build.claims_page`: print a line per claim of the papers, and all printed figures beside ours."""

import itertools
import json
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from docs.build.claims import (
    UNDECIDED,
    UNTESTED,
    Claim,
    Decision,
    Pair,
    Sides,
    claims,
    cost_of,
    costs,
    decide,
    pairs_of,
    sides_of,
    standing_of,
)
from docs.build.results_page import command_of, markdown, short
from docs.build.rows import OWN_TRAINING, epochs_of, first_of, kind_of, recipe_rows, stopping_patience, training_of

from multiway.tasks.protocol import Row
from multiway.workflows.recipe import Recipe, load_recipe
from multiway_papers.cells import recipe_names, table_names
from multiway_papers.printed import HIGHER_IS_BETTER
from multiway_papers.verdicts import Difference, verdicts

HEAD = """## Claims

One line per claim. A figure is the difference of two rows, or of a row and its printed figure, with its 95 % interval
over seeds: other seeds, the same test rows. A claim over several cells has their count by such intervals; all have to
support it, and one refutes it whose interval excludes it at 95 % for all of them together (Bonferroni). What is as good
may be worse by the margin that stands there. Seeds that would decide are those at which the verdict changes, with means
and deviations as they are. Hours are of one core, for all seeds of the cells that decide, trained as in print.
"""
SECTIONS = {
    "paper": ("In the paper's form", "Networks as printed; data, split and what print leaves open as the recipe says."),
    "own": ("In our own form", "Other forms of the network, or another training."),
    "short": ("Cut short", "Fewer epochs or samples than the whole training has; these rows decide no claim."),
}
HEADS = ("recipe", "score", "printed", "ours", "seeds", "difference, 95 % interval", "verdict")


CHOICES = ("--rows", "--variants", "--forms", "--horizons")
"""Options of a command that choose cells."""
LISTED = 6
"""Comparisons of a claim that have a figure each."""
COUNTED = """{} of {} cells in the papers' form have rows: {} of the whole training, {} cut short.
These are the recipes that name the form `paper`; those of NdLinear and TGA have one form alone. Cells with the same
runs share a row, and stocks have MiniLM for FinBERT."""
STOPPED = """A training of HOT that validation stopped is whole where at least five cells show that it gives what
100 epochs give, seed by seed. {}"""
SHOWN = "They do so for {} epochs without a gain."
NOT_SHOWN = "No number of epochs without a gain has that evidence yet, so such rows are cut short."
LEFT = """{} cells of the papers' form have no row of the whole training, {} of them for want of data or weights. What
can be run takes some {} hours of two cores: seconds of a step on one thread, times the steps of all epochs and seeds,
two seeds at once (`python -m benchmarks.costs --out results/costs.jsonl`). `≤` where training may stop early; a batch
is named where steps of another are timed.
Validation and scoring come on top; of a frozen encoder that is not here, hashed words stand in."""


def main() -> None:
    """Print the lines."""
    print(page(), end="")


def page() -> str:
    """What the site shows under docs/papers/README.md."""
    return "\n".join([HEAD, *_claim_lines(), *_count_lines(), *_row_lines(), *_left_lines()]) + "\n"


def _claim_lines() -> Iterator[str]:
    rows = recipe_rows()
    yield from markdown(["paper", "claim", "where", "verdict", "figure", "command"])
    for claim in claims():
        found = decide(claim, rows)
        comparisons = (_figure(claim, rows), claim.words, _open(claim, found, rows))
        made = "; ".join(f"`{each}`" for each in commands_of(claim, rows))
        cells = [
            claim.paper,
            claim.claim,
            claim.where,
            f"**{found.verdict}**",
            "; ".join(filter(None, comparisons)),
            made,
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""


def commands_of(claim: Claim, rows: dict[str, Row]) -> list[str]:
    """What says so: other commands, the test, and what measures its rows again, those of one table at once."""
    names = dict.fromkeys(name for pair in pairs_of(claim) for name in (pair.row, pair.against) if name in rows)
    measured = [command_of(load_recipe(name), rows[name]) for name in names]
    return [*filter(None, (claim.command, claim.test)), *joined(measured)]


def joined(commands: list[str]) -> list[str]:
    """Commands that differ in the cells that they choose as one with all choices, where these are all combinations."""
    groups = dict[tuple[str, ...], list[dict[str, str]]]()
    for command in commands:
        words = shlex.split(command)
        places = [place for place, word in enumerate(words) if word in CHOICES]
        kept = tuple("" if place - 1 in places else word for place, word in enumerate(words))
        groups.setdefault(kept, []).append({words[place]: words[place + 1] for place in places})
    return [line for kept, chosen in groups.items() for line in _with_choices(kept, chosen)]


def _with_choices(kept: tuple[str, ...], chosen: list[dict[str, str]]) -> Iterator[str]:
    """One command for all choices of cells, or one for each where some combination is not among them."""
    values = {name: list(dict.fromkeys(each[name] for each in chosen)) for name in chosen[0]}
    several = [dict(zip(values, each, strict=True)) for each in itertools.product(*values.values())]
    together = [values] if all(each in chosen for each in several) else [{n: [v] for n, v in c.items()} for c in chosen]
    for each in together:
        found = iter(each.values())
        yield shlex.join(word or ",".join(next(found)) for word in kept)


def _figure(claim: Claim, rows: dict[str, Row]) -> str:
    """The difference of each comparison, where these are few, and how many are ahead, level and behind."""
    pairs = [(pair, sides) for pair in pairs_of(claim) if (sides := sides_of(claim, pair, rows))]
    if not pairs:
        return ""
    comparisons = [_difference(pair, sides) for pair, sides in pairs] if len(pairs) <= LISTED else []
    found, of = standing_of([sides for _, sides in pairs]), len(pairs_of(claim))
    if of > 1:
        comparisons.insert(0, f"ahead in {found.ahead}, level in {found.level}, behind in {found.behind} of {of}")
    return "; ".join([*comparisons, *([f"margin {short(claim.margin)}"] if claim.margin else [])])


def _difference(pair: Pair, sides: Sides) -> str:
    gain = sides.gain()
    found = gain if sides.sign > 0 else Difference(-gain.value, -gain.high, -gain.low, gain.has_printed_spread)
    other = f"`{pair.against}`" if pair.against else "print"
    return f"{pair.metric} {short(sides.ours.value)} (`{pair.row}`), {interval(found)} to {other}"


def _open(claim: Claim, found: Decision, rows: dict[str, Row]) -> str:
    """What would decide: a number of seeds, or hours and what is lacking."""
    if found.verdict == UNDECIDED:
        return f"{found.seeds} seeds would decide" if found.seeds else "no number of our seeds decides up to 1,000"
    if found.verdict != UNTESTED:
        return ""
    cost = cost_of(claim, rows)
    hours = f"{short(cost.hours, 0 if cost.hours >= 10 else 1)} h" if cost.hours else None
    lacking = ", ".join(filter(None, (claim.lacks, *(f"`{each}`" for each in cost.missing))))
    return ", ".join(filter(None, (hours, f"lacking: {lacking}" if lacking else None)))


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
    yield from (
        STOPPED.format(SHOWN.format(patience) if (patience := stopping_patience()) else NOT_SHOWN),
        "",
    )


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
    known = costs()
    groups = dict[tuple[str, ...], dict[str, Row]]()
    for name, recipe in left().items():
        row = known[name]
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
    """How many a row has of those that print names, and of how many samples where it has not all."""
    first, printed = first_of(recipe, row), training_of(recipe)
    samples = f", first {first:,} of each split" if first else ""
    patience = row["settings"]["training"]["patience"]
    stopped = f", patience {patience} of {printed.patience}" if printed and printed.patience and patience else ""
    epochs = max(epochs_of(recipe), printed.epochs if printed else 0)
    return f"{row['settings']['training']['epochs']} of {epochs}{stopped}{samples}"


def _verdict(stated: Row, metric: str) -> tuple[str, str]:
    name = f"{metric}_difference"
    if name not in stated:
        return "–", "no interval"
    found = Difference(stated[name], stated[f"{name}_low"], stated[f"{name}_high"], stated[f"{metric}_printed_spread"])
    spread = "" if found.has_printed_spread else ", print as exact"
    return interval(found) + spread, str(stated[f"{metric}_verdict"])


if __name__ == "__main__":
    main()
