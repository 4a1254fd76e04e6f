"""`multiway recipes`, `published`, `reproduce`, `bench` and `data encode`: the commands of the papers."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

import multiway_papers as papers
from multiway.cli import options, show
from multiway.cli.options import Quiet, Sets
from multiway.cli.show import Output
from multiway.config import read_names
from multiway.errors import ConfigError

complete_published = options.any_of(lambda: papers.published_tables())
complete_tables = options.any_of(lambda: papers.reproducible_names())
Shape = Annotated[
    str, typer.Option(help="Of the input, batch first: 64,28,28,3; of attention, features last; TTEmbedding: 64,30000.")
]
To = Annotated[
    str | None, typer.Option(help="Sizes of the output without the batch: 64,64,6; those of the input if not given.")
]
Rank = Annotated[
    int | None,
    typer.Option(
        "--rank", "--heads", help="Rank or heads; if not given 1 for NdLinear, 8 heads for attention, 2 for the others."
    ),
]


def recipes_command(
    pattern: Annotated[
        str, typer.Argument(help="Shell pattern, such as 'hot-*-96'.", autocompletion=options.complete_recipes)
    ] = "*",
) -> Output:
    """List the recipes, each one cell of a published table, with the published figure; of one, its settings.

    Each setting of a single recipe has its source: the paper's text, its public code, or ours and why.
    """
    listed = papers.list_recipes(pattern)
    if pattern not in papers.recipe_names():
        return show.table(listed)
    settings = [each._asdict() for each in papers.recipe_settings(pattern)]
    document = {"recipe": listed[0], "settings": settings}
    return Output(lines=_recipe_lines(listed, settings), document=lambda: document)


def _recipe_lines(listed: Sequence[dict[str, Any]], settings: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield from [*show.align_rows(listed), ""]
    yield from show.align_rows([{name: _plain(value) for name, value in each.items()} for each in settings])
    yield from ["", "What is not listed is the library's default."]


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def published_command(
    table: Annotated[
        str | None,
        typer.Argument(help="A table's name; lists them all if not given.", autocompletion=complete_published),
    ] = None,
) -> Output:
    """Print a published table as it stands in its paper: every method, with means over horizons."""
    if table is None:
        return show.table(papers.list_published())
    answer = papers.published(table)
    return Output(lines=_published_lines(answer), document=lambda: answer)


def _published_lines(answer: Mapping[str, Any]) -> Iterator[str]:
    yield from [f"{answer['source']}: {answer['title']}", ""]
    yield from show.align_rows(answer["rows"])
    if answer["slips"]:
        yield from ["", "Figures that other figures of the paper contradict:", *show.align_rows(answer["slips"])]
    yield from ["", *answer["notes"]] if answer["notes"] else []


def reproduce_command(
    table: Annotated[
        str | None, typer.Argument(help="A table's name, such as hot-table-1.", autocompletion=complete_tables)
    ] = None,
    rows: Annotated[
        str | None, typer.Option(help="Only these data sets, separated by commas; all if not given.")
    ] = None,
    variants: Annotated[
        str | None, typer.Option(help="Only these variants, separated by commas; all if not given.")
    ] = None,
    horizons: Annotated[
        str | None, typer.Option(help="Only these horizons, separated by commas; all if not given.")
    ] = None,
    forms: Annotated[
        str | None,
        typer.Option(
            help="Only these forms of the model (paper, per_mode, trainable), separated by commas; all if not given."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds per cell.")] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Append one JSON line per cell to this file.", show_default="none")
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(help="Keep the run folders here, and use those that are there; not kept if not given."),
    ] = None,
    measured: Annotated[
        Path | None,
        typer.Option("--from", help="Read cells that --out wrote earlier, and run nothing.", show_default="none"),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Draw published and measured as one HTML page.", show_default="none")
    ] = None,
    queue: Annotated[
        Path | None,
        typer.Option(help="Run what is left of the cells in this file, the cheapest first.", show_default="none"),
    ] = None,
    sets: Sets = None,
    quiet: Quiet = False,
) -> Output:
    """Run the recipes of a table and print measured and published figures, then every published method with ours.

    With --queue the cells are those of a file; any number of processes may work at it, and be killed.
    """
    if queue is not None:
        others = (table, rows, variants, horizons, forms, out, runs, measured, report, sets)
        if any(others) or seeds > 1:
            raise ConfigError(f"--queue: {queue} names the cells and their settings. Leave out the rest.")
        finished = papers.run_queue(queue, progress=not quiet)
        lines = (line for row in finished for line in show.align_rows([row]))
        return Output(lines=lines, document=lambda: show.uniform(list(finished)))
    if table is None:
        raise ConfigError("reproduce: give a table, such as hot-table-1, or --queue FILE.")
    cells = papers.reproduce(
        table,
        rows=rows and read_names(rows),
        variants=variants and read_names(variants),
        horizons=horizons and read_names(horizons),
        forms=forms and read_names(forms),
        seeds=seeds,
        out=out,
        runs=runs,
        overrides=options.nest_settings(sets or []),
        measured=measured,
        report=report,
        progress=not quiet,
    )
    return Output(lines=_measured_lines(table, cells), document=lambda: _measured_document(table, list(cells)))


def _measured_lines(table: str, cells: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Each cell as it is done, then the published table."""
    done = []
    for cell in cells:
        done.append(cell)
        yield from show.align_rows([cell])
    rows = papers.compare_published(table, done)
    yield from ["", *show.align_rows(rows)] if rows else []


def _measured_document(table: str, cells: Sequence[dict[str, Any]]) -> dict[str, Any]:
    rows = papers.compare_published(table, cells)
    return {"measured": show.uniform(cells), "published": show.uniform(rows)}


def encode_command(
    data: Annotated[
        str,
        typer.Argument(
            help="Prices with texts next to them, or a known data set's name.",
            autocompletion=options.complete_data_sets,
        ),
    ],
    texts: Annotated[
        str | None, typer.Option(help="Texts of each ticker: a file or folder; those next to the prices if not given.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(help="Turns texts into vectors: auto, minilm, finbert, hashed, a folder.", show_default="auto"),
    ] = None,
    sets: Sets = None,
    quiet: Quiet = False,
) -> Output:
    """Turn texts into vectors and keep them, so that training finds them; go on where it was stopped."""
    from multiway_papers.stocks.encoding import encode

    given = {"read": {"texts": texts} if texts else {}, "text": {"encoder": encoder} if encoder else {}}
    done = encode(data, given, overrides=options.nest_settings(sets or []), progress=not quiet)
    return Output(lines=done.lines(), document=done.to_dict)


def bench_command(
    layer: Annotated[
        str,
        typer.Argument(
            help="Such as NdLinear, TTLinear, TuckerConv, NdRNN or KroneckerAttention; a wrong name lists all."
        ),
    ],
    shape: Shape,
    to: To = None,
    rank: Rank = None,
    repeats: Annotated[int, typer.Option(min=1, help="Timed rounds.")] = 15,
    threads: Annotated[int | None, typer.Option(min=1, help="Those of torch if not given.")] = None,
) -> Output:
    """Time a layer against the package for it, if it is installed, and the usual layer; ratios are in one run."""
    import torch

    from multiway_papers.bench import bench

    if threads is not None:
        torch.set_num_threads(threads)
    chosen = {"NdLinear": 1, "KroneckerAttention": 8}.get(layer, 2) if rank is None else rank
    out_sizes = None if to is None else _sizes("--to", to)
    done = bench(layer, _sizes("--shape", shape), out_sizes, rank=chosen, repeats=repeats)
    name = "heads" if layer.endswith("Attention") else "rank"
    sizes, to_sizes = (",".join(map(str, done[key])) for key in ("shape", "to"))
    head = f"{layer} {sizes} to {to_sizes}, {name} {chosen}, threads {done['threads']}"
    return Output(lines=[head, "", *show.align_rows(done["rows"])], document=lambda: done)


def _sizes(option: str, text: str) -> tuple[int, ...]:
    """Whole numbers with commas between them."""
    parts = text.split(",")
    if not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise ConfigError(f"{option}: sizes are whole numbers from 1 on, as 64,28,28,3. Got {text!r}.")
    return tuple(map(int, parts))
