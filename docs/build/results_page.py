"""`python -m docs.build.results_page`: print the page of results, every row of results/ with its command."""

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from docs.build.rows import RESULTS, overridden, read_rows, recipe_rows

from multiway.report.text import decimals_for, duration, magnitude, number
from multiway.tasks.protocol import Row
from multiway.workflows.recipe import Recipe, load_recipe
from multiway_papers.cell_rows import own_parameters
from multiway_papers.cells import recipes_of, table_names
from multiway_papers.printed import load_published, published_tables

METRICS = {
    "forecast": ("mse", "mae"),
    "volumes": ("auc", "acc"),
    "segment": ("dice",),
    "stocks": ("acc", "mcc"),
    "text": ("acc", "auc"),
    "series": ("f1", "acc"),
    "images": ("acc", "top5"),
    "language": ("bpb", "ppl"),
    "tabular": ("acc", "auc", "mse", "r2"),
}
"""What a cell without printed figures is told by."""
SPEED = {
    "nd_linear": "python -m benchmarks nd_linear --threads 2 --repeats 31",
    "tensor_train": "python -m benchmarks tensor_train --threads 2 --repeats 31",
    "attention": "python -m benchmarks attention --threads 2 --repeats 9",
    "graph": "python -m benchmarks graph long_graph --threads 2",
    "additive": "python -m benchmarks additive --threads 2",
    "small_layers": "python -m benchmarks small_layers --threads 1 --repeats 301",
    "layers_cuda": (
        "python -m benchmarks nd_linear --device cuda --repeats 9; "
        "python -m benchmarks attention --device cuda --repeats 7"
    ),
    "compiled": "python -m benchmarks compiled --threads 1 --repeats 101",
    "images-speed": "python -m benchmarks images --threads 2",
    "stocks_speed": "python -m benchmarks stocks --threads 2 --repeats 15",
    "volumes": "python -m benchmarks volumes --threads 2",
    "windows": "python -m benchmarks windows --threads 2",
    "refits": "python -m benchmarks.refits --out results/refits.jsonl",
    "ridge": "python -m benchmarks.ridge",
    "choices": (
        "python -m benchmarks.choices --data ett_h1 ett_h2 --choices default 'no partner' 'OLinear alone'; "
        "python -m benchmarks.choices --data exchange --choices default"
    ),
    "race": (
        "python -m benchmarks.race --data ett_h1 --threads 1; "
        "python -m benchmarks.race --data weather --threads 1 --epochs 1"
    ),
    "answers": "PYTHONPATH=src:tests python -m benchmarks.answers --out results/answers.jsonl",
    "baselines": "python -m benchmarks.baselines",
    "classical": "python -m benchmarks.classical --out results/classical.jsonl",
    "prices": "python -m benchmarks.prices --out results/prices.jsonl",
    "bands": "python -m benchmarks.bands --draws 20 --out results/bands.jsonl",
    "holidays": "python -m benchmarks.holidays --seeds 5 --out results/holidays.jsonl",
    "covariate_mode": "python -m benchmarks.covariate_mode --seeds 4 --out results/covariate_mode.jsonl",
    "holiday-bands": "python -m benchmarks.holidays --bands --seeds 10 --out results/holiday-bands.jsonl",
    "quantile-head": "python -m benchmarks.quantile_head --seeds 2 --out results/quantile-head.jsonl",
    "late-series": "python -m benchmarks.late_series --out results/late-series.jsonl",
    "first_contact": "PYTHONPATH=src:tests python -m corpora.first_contact --out results/first_contact.jsonl",
    "large": "python -m benchmarks.large",
    "leaks": "PYTHONPATH=src:tests python -m leak_sets.outcomes --out results/leaks.jsonl",
    "adapters": (
        "python -m benchmarks.adapters speed --out results/adapters.jsonl; "
        "python -m benchmarks.adapters text --encoder FOLDER --out results/adapters.jsonl; and with --on validation "
        "--seeds 2 --rate RATE"
    ),
    "whole_models": "python -m benchmarks.whole_models --out results/whole_models.jsonl",
    "smaller": "python -m benchmarks.smaller RUN SMALL --out results/smaller.jsonl",
    "fev": "multiway reproduce fev --out results/fev.jsonl",
    "gift": "multiway reproduce gift --out results/gift.jsonl",
    "effective-rank": "multiway reproduce hot-effective-rank --seeds 2 --out results/effective-rank.jsonl",
    "kills": "PYTHONPATH=src:tests python -m attacks.kills --folder FOLDER",
    "orders": "python -m benchmarks.orders --rounds 9 --out results/orders.jsonl",
    "image-places": (
        "PYTHONPATH=src:tests python -m benchmarks.places shapes --seeds 3 --out results/image-places.jsonl; "
        "and with textures digits --seeds 1"
    ),
    "relations": "PYTHONPATH=src:tests python -m attacks.relations --folder FOLDER --out results/relations.jsonl",
    "tuning": "python -m benchmarks.tuning --out results/tuning.jsonl",
    "limits": "multiway reproduce ndlinear-table-2 --rows cifar10 --variants Linear --set split.validation=0.02",
    "searches-volumes": (
        "multiway tune volumes --data adrenalmnist3d --space hot-volumes --trials 30 --pruner halving --epochs 6 "
        "--out searches/adrenal --set read.shape_transform=true --set model.name=hot_volume_classifier_paper "
        "--set model.dim=64 --set model.stem_channels=22 --set training.optimizer=adam "
        "--set training.learning_rate=0.0002 --set training.schedule=constant --set training.warmup_steps=0 "
        "--set training.weight_decay=0 --set training.clip_norm=null --set training.average=null"
    ),
    "searches-text": (
        "multiway tune text --data cola --space ndlinear-tuned-text --pruner halving --epochs 6 --out searches/cola "
        "--inputs tokens --encoder minilm --set read.split=null --set read.where.split=train --set read.first=3000 "
        "--set split.validation=0.2 --set split.test=0.2 --set split.seed=42 --set model.name=text_head_published "
        "--set training.optimizer=adamw --set training.schedule=constant --set training.warmup_steps=0 "
        "--set training.clip_norm=null --set training.weight_decay=0.01 --set training.patience=0; and "
        "text_head_dense in another folder"
    ),
    "searches": (
        "multiway tune stocks --data stocknet --space hot-stocks --pruner halving --epochs 12 --out searches/stocks "
        "--protocol chronological --set protocol.look_back=5 --set protocol.complete=true --set protocol.down=0.004999 "
        "--set protocol.up=0.0055 --set 'protocol.borders=[2015-08-01, 2015-10-01]' --set protocol.prices=levels "
        "--set 'dates=[day, month, year]' --set batch_days=8 --set text_scale=each --encoder minilm "
        "--set read.end=2015-12-31 --set model.name=hot_stock_classifier_paper --set model.absent=token "
        "--set select=mcc --set training.optimizer=adam --set training.learning_rate=0.0005 "
        "--set training.batch_size=8 --set training.clip_norm=5 --set training.patience=100 "
        "--set training.schedule=constant --set training.warmup_steps=0 --set training.weight_decay=0"
    ),
    "mutants": "PYTHONPATH=src:tests python -m attacks.mutants --folder FOLDER",
    "formats": "PYTHONPATH=src:tests python -m corpora.formats --out results/formats.jsonl",
    "costs": "python -m benchmarks.costs --out results/costs.jsonl",
    "weights": "python -m benchmarks.weights --seeds 3 --runs FOLDER --out results/weights.jsonl",
    "series-peers": "python -m benchmarks.series FOLDER ... --out results/series-peers.jsonl",
    "table-peers": "python -m benchmarks.tables development --out results/table-peers.jsonl; and held, forty, last",
    "calibration": "python -m benchmarks.calibration --out results/calibration.jsonl",
    "grids": "python -m benchmarks.grids --ferret FOLDER --iris FOLDER --out results/grids.jsonl",
}
"""Files of other rows, and what wrote them."""
IN_GIT = {
    "baselines": "39c4318e",
    "choices": "92c81a24",
    "covariate_mode": "e58279a0",
    "holiday-bands": "7a4e5220",
    "holidays": "7a4e5220",
    "late-series": "eb916da6",
    "prices": "cb363bb9",
    "quantile-head": "0f7ac07c",
    "race": "39c4318e",
    "refits": "e5898df7",
    "ridge": "dfd4350b",
    "smaller": "8be86941",
    "tuning": "8be86941",
}
"""Rows whose question is answered: the last commit that has the program that measured them."""
ELSEWHERE = {
    "costs": "[Not run](papers/README.md#not-run) has them.",
    "effective-rank": "[Their page](papers/kronecker-rank.md) has them.",
}
"""Rows that another page shows."""
NO_BASELINES = {"published", "network", "cl"}
"""What else stands before a metric's name: the paper, the network before it is mixed with ridge, Dice along a line."""
MACHINE = {
    "benchmark",
    "bars",
    "torch",
    "processor",
    "rounds",
    "kernels",
    "threads",
    "commit",
    "curve",
    "benchmark_task",
}
"""What the tables of speed leave to their files."""
HEAD = """# Results

Every row of `results/`, and the command that measures it. What the figures say of the papers stands in
[papers/README.md](papers/README.md), of speed in [numbers.md](numbers.md#speed).

± is the standard deviation over seeds. *Printed* is the paper's figure. Baselines are scored on the same test rows,
by the first metric. Times are those of all seeds together, mostly on busy cores. A row in its file has every score,
setting and version, and the scores of each seed. Rows measured on a processor
come out equal to the bit on one with the same vector units, threads and compiled kernels; elsewhere to rounding,
which few samples magnify. A row of `x86_64` alone was measured before vector units were recorded.
"""


def main() -> None:
    """Print the page."""
    print(page(), end="")


def page() -> str:
    """The whole page."""
    rows = recipe_rows()
    tables = (table_lines(table, [rows[n] for n in recipes_of(table) if n in rows]) for table in table_names())
    return "\n".join([HEAD, *(line for lines in tables for line in lines), *other_lines()]) + "\n"


def table_lines(table: str, rows: Sequence[Row]) -> Iterator[str]:
    """A section on the measured cells of a table."""
    if not rows:
        return
    recipes = {row["recipe"]: load_recipe(row["recipe"]).of_row(row) for row in rows}
    metrics = list(dict.fromkeys(each for row in rows for each in metrics_of(recipes[row["recipe"]], row)))
    yield from (f"## {table}", "")
    yield from markdown(["cell", *metrics, "baselines", "parameters", "seeds", "time", "machine", "command"])
    for row in rows:
        yield _cell_line(recipes[row["recipe"]], row, metrics)
    yield ""


def metrics_of(recipe: Recipe, row: Row) -> list[str]:
    """Those that are printed of a cell, of a twin in its table, or drawn; else its task's."""
    siblings = (each for each in recipes_of(recipe.table).values() if each.data == recipe.data)
    printed = [*recipe.figures] or next(([*each.figures] for each in siblings if each.figures), [])
    return [each for each in printed or drawn(recipe.table) or METRICS[recipe.task] if row.get(each) is not None]


def drawn(table: str) -> list[str]:
    """What the panels of a figure without printed values show."""
    curves = load_published(table).curves if table in published_tables() else None
    return [*curves.panels] if curves else []


def _cell_line(recipe: Recipe, row: Row, metrics: Sequence[str]) -> str:
    first = next((each for each in metrics if row.get(each) is not None), metrics[0])
    facts = [
        ", ".join(f"{name} {short(value)}" for name, value in baselines_of(row, first).items()),
        magnitude(own_parameters(row)),
        str(row["seeds"]),
        duration(row["seconds"]),
        machine_of(row),
    ]
    cells = [_name(recipe), *(_figure(row, metric) for metric in metrics), *facts, f"`{command_of(recipe, row)}`"]
    return f"| {' | '.join(cells)} |"


def machine_of(row: Row) -> str:
    """The device of a cell, and the threads of its processor."""
    device, threads = (row["environment"][name] for name in ("device", "threads"))
    return f"{device}, {threads} thread{'s' if threads > 1 else ''}"


def _name(recipe: Recipe) -> str:
    horizons = "-".join(dict.fromkeys(map(str, (recipe.horizons[:1] + recipe.horizons[-1:]))))
    return ", ".join(each for each in (recipe.row, horizons, recipe.variant, recipe.form) if each)


def _figure(row: Row, metric: str) -> str:
    value, deviation, printed = (row.get(name) for name in (metric, f"{metric}_sd", f"published_{metric}"))
    if value is None:
        return "–"
    spread = f" ± {short(deviation, decimals_for([value]))}" if deviation is not None else ""
    return f"{short(value)}{spread}" + (f" (printed {short(printed)})" if printed is not None else "")


def short(value: float, decimals: int | None = None) -> str:
    """A number with about four digits."""
    return number(value, decimals_for([value]) if decimals is None else decimals)


def baselines_of(row: Row, metric: str) -> dict[str, float]:
    """What every baseline of a cell has in this metric."""
    tail = f"_{metric}"
    names = (key.removesuffix(tail) for key in row if key.endswith(tail))
    values = {name: row[name + tail] for name in names if name not in NO_BASELINES}
    return {name: value for name, value in values.items() if isinstance(value, int | float)}


def command_of(recipe: Recipe, row: Row) -> str:
    """What measures a cell again, with the settings that were not the recipe's."""
    words = ["multiway", "reproduce", recipe.table, "--rows", recipe.row]
    words += ["--variants", recipe.variant] if recipe.variant else []
    words += ["--forms", recipe.form] if recipe.form else []
    words += ["--horizons", str(recipe.horizons[0])] if len(recipe.horizons) == 1 else []
    words += ["--seeds", str(row["seeds"])]
    sets = (["--set", f"{name}={_typed(value)}"] for name, value in deciding(recipe, row).items())
    return shlex.join([*words, *(word for pair in sets for word in pair)])


def _typed(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def deciding(recipe: Recipe, row: Row) -> dict[str, Any]:
    """Of these settings what touches the network's scores: no baselines, and no encoder where words are read."""
    given = overridden(recipe, row)
    unused = {"baselines", *(["text.encoder"] if row["settings"].get("inputs") == "words" else [])}
    return {name: value for name, value in given.items() if name not in unused}


def other_lines() -> Iterator[str]:
    """Sections on speed, memory, kills and what else is no cell of a table."""
    for name, command in SPEED.items():
        path = RESULTS / f"{name}.jsonl"
        rows = [row for row in read_rows(path) if "recipe" not in row] if path.exists() else []
        if rows:
            table = [ELSEWHERE[name]] if name in ELSEWHERE else _plain_table(rows)
            where = f" (in git at `{IN_GIT[name]}`)" if name in IN_GIT else ""
            yield from (f"## {name}", "", f"`{command}`{where}", "", *table, "")


def _plain_table(rows: Sequence[Row]) -> Iterator[str]:
    shown = [{key: text for key, value in row.items() if (text := _written(value))} for row in rows]
    several = {key for key in ("benchmark", "processor") if len({row.get(key) for row in shown}) > 1}
    heads = list(dict.fromkeys(key for row in shown for key in row if key not in MACHINE - several))
    yield from markdown(heads)
    yield from (f"| {' | '.join(row.get(head, '–') for head in heads)} |" for row in shown)


def _written(value: Any) -> str:
    """A scalar, a list of scalars, or a few scalars by name, in one cell; nothing of what is deeper."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {text}" for key, each in value.items() if (text := _written(each)))
    if isinstance(value, list):
        return " × ".join(_written(each) for each in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return short(value) if isinstance(value, float) else "" if value is None else str(value)


def markdown(heads: Iterable[str]) -> list[str]:
    """Head and rule of a table."""
    names = list(heads)
    return [f"| {' | '.join(names)} |", "|" + "---|" * len(names)]


if __name__ == "__main__":
    main()
