"""Every verdict once more, from the files alone: JSON, YAML and scipy, and nothing of the page that prints them.

`python tests/independent_verdicts.py` prints a line for each claim.
"""

import itertools
import json
import re
import statistics
from pathlib import Path

import yaml
from scipy import stats

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "src" / "multiway_papers" / "tables"
LOWER = ("mse", "mae", "ppl")
NEVER = (
    r"short-hot-", r"opt-wikitext2-", r"vit-(small|tenth|equal-flops|teacher)-", r"image-cifar100-12k-",
    r"series-chlorine-partial-", r".*-trainable$", r".*-ours$", r"text-(sst2|cola)-(?!tuned)", r"hot-searched-",
    r"(adrenal|floor|peers|rescored)-", r"hot-stocks-code-grid",
)  # fmt: skip
"""Rows of less than print has, or of another form."""
NAMED = {
    r"hot-stocks": (1000, 100), r"hot-later-code": (50, 10), r"hot-": (100, None),
    r"text-(cola-tuned|searched-cola)": (50, None), r"vit-": (30, None), r"place-cnn-": (40, None),
}  # fmt: skip
"""Epochs that a text or its public code names, and the patience that ends training there."""
PRINTED = {
    r"image-(cifar10)-ndlinear$": ("ndlinear-table-2", "ndlinear", None),
    r"hot-stocks": ("hot-stocks-table-1", "hot", None),
    r"hot-(exchange|weather)-(\d+)$": ("hot-table-12", "hot", "hot-table-11"),
    r"hot-(adrenal)$": ("hot-table-2", "hot", "hot-table-10"),
}


def verdicts():
    """What is found of each claim, by paper and claim."""
    given = yaml.safe_load((ROOT / "docs" / "papers" / "claims.yaml").read_text())
    rows = measured()
    return {f"{paper}: {claim['claim']}": verdict(claim, rows) for paper, lines in given.items() for claim in lines}


def measured():
    """The row of each cell: a whole one before others, of the queue that of most seeds, else the last."""
    lines = [
        json.loads(line)
        for path in sorted((ROOT / "results").glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    lines = [row for row in lines if "recipe" in row]
    patience = enough(lines)
    found = {}
    for row in lines:
        rank = (is_whole(row, patience), row["seeds"] if "queue" in row else 0)
        if row["recipe"] not in found or rank >= found[row["recipe"]][0]:
            found[row["recipe"]] = rank, row
    return {name: (rank[0], row) for name, (rank, row) in found.items()}


def enough(lines):
    """The patience after which five or more of HOT's cells have the scores of a hundred epochs, or None."""
    queued = [row for row in lines if "queue" in row and re.match("hot-(?!stocks)", row["recipe"])]
    full = {
        (row["recipe"], row.get("horizons")): row["each"]
        for row in queued
        if not row["settings"]["training"]["patience"]
    }
    shown = {}
    for row in queued:
        patience, other = row["settings"]["training"]["patience"], full.get((row["recipe"], row.get("horizons")))
        if patience and other:
            same = all(one == two for one, two in zip(row["each"], other, strict=False))
            shown.setdefault(patience, []).append(same)
    return min((patience for patience, same in shown.items() if len(same) >= 5 and all(same)), default=None)


def is_whole(row, patience):
    """Whether a row ran what is named, by its own settings."""
    name, training = row["recipe"], row["settings"]["training"]
    if any(re.match(each, name) for each in NEVER) or (row["settings"].get("read") or {}).get("first") not in (
        None,
        3000,
    ):
        return False
    for pattern, (epochs, stopped) in NAMED.items():
        if re.match(pattern, name):
            limit = stopped or patience
            waits = training["patience"]
            return training["epochs"] >= epochs and (not waits or (limit is not None and waits >= limit))
    return True


def verdict(claim, rows):
    """One of four words."""
    if "says" in claim:
        return claim["says"]
    places = [
        dict(zip(claim.get("over", {}), each, strict=True))
        for each in itertools.product(*claim.get("over", {}).values())
    ]
    metrics = claim.get("metric", [])
    metrics = [metrics] if isinstance(metrics, str) else metrics
    cells = [(place, metric) for place in places for metric in metrics] if "row" in claim else []
    known = [found for place, metric in cells if (found := compared(claim, place, metric, rows))]
    if not known:
        return "untested"
    limit, refuting = 0 if claim.get("better", True) else -claim.get("margin", 0), 0.05 / len(known)
    if any(interval(*each, refuting)[1] < limit for each in known):
        return "refuted"
    supported = all(interval(*each, 0.05)[0] > limit for each in known)
    if len(known) < len(cells) or "lacks" in claim:
        return "untested"
    return "holds" if supported else "undecided"


def compared(claim, place, metric, rows):
    """Both sides, half a unit of print's last digit, and the sign of what is better; None where a side is not whole."""
    ours = side(claim["row"].format(**place), metric, rows)
    rounding, theirs = 0.0, None
    if "beats" in claim:
        theirs = claim["beats"], None, None
    elif "against" in claim:
        theirs = side(claim["against"].format(**place), metric, rows)
    elif ours:
        *theirs, rounding = printed(claim["row"].format(**place), metric)
    return (ours, theirs, rounding, -1 if metric in LOWER else 1) if ours and theirs else None


def side(name, metric, rows):
    whole, row = rows.get(name, (False, None))
    if not whole or row["seeds"] < 2:
        return None
    values, seeds = [each.get(metric) for each in row["each"]], row["seeds"]
    if None not in values:
        means = [statistics.fmean(values[seed::seeds]) for seed in range(seeds)]
        return statistics.fmean(means), statistics.variance(means), seeds
    return row[metric], row[f"{metric}_sd"] ** 2, seeds


def interval(ours, theirs, rounding, sign, alpha):
    """By how much ours is better: Welch's, or Student's where the other has no deviation."""
    (one, own, count), (two, other, others) = ours, theirs
    spread, freedom = own / count, count - 1
    if other is not None:
        parts = own / count, other / others
        spread = sum(parts)
        if spread:
            freedom = spread**2 / (parts[0] ** 2 / (count - 1) + parts[1] ** 2 / (others - 1))
    half = stats.t.ppf(1 - alpha / 2, freedom) * spread**0.5 + rounding
    middle = sign * (one - two)
    return middle - half, middle + half


def printed(name, metric):
    """A printed figure with its variance, number of seeds and half a unit of its last digit."""
    pattern, (table, method, deviations) = next(each for each in PRINTED.items() if re.match(each[0], name))
    groups = re.match(pattern, name).groups()
    figure, deviation, digits, seeds = cell(table, method, groups, metric)
    if deviations:
        _, deviation, _, seeds = cell(deviations, method, groups, metric)
    known = deviation is not None
    return figure, deviation**2 if known else None, seeds if known else None, 0.5 * 10**-digits


def cell(table, method, groups, metric):
    """A figure, its deviation, the digits of its column, and of how many seeds it is."""
    whole = yaml.safe_load((TABLES / f"{table}.yaml").read_text())
    column = groups[0] if groups else next(iter(whole["columns"]))
    heads = [(name, each) for name, metrics in whole["columns"].items() for each in metrics]
    place = heads.index((column, metric))
    horizon = int(groups[1]) if len(groups) > 1 else None

    def line(numbers):
        return numbers[horizon] if horizon else numbers

    texts = [
        repr(numbers[place])
        for each in whole["methods"].values()
        for numbers in lines_of(each["figures"])
        if numbers[place] is not None
    ]
    own = whole["methods"][method]
    deviation = line(own["deviations"])[place] if own.get("deviations") else None
    return (
        line(own["figures"])[place],
        deviation,
        max(len(text.partition(".")[2]) for text in texts),
        whole.get("seeds"),
    )


def lines_of(figures):
    return figures.values() if isinstance(figures, dict) else [figures]


if __name__ == "__main__":
    for name, found in verdicts().items():
        print(f"{found:10} {name}")
