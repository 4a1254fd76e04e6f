"""Published tables are whole, agree with each other where the papers say so, and with the figures of the recipes."""

import statistics

import pytest

from loops import check_all
from multiway.errors import ConfigError
from multiway.tasks.registry import task_of
from multiway_papers.cells import recipes_of, table_names
from multiway_papers.printed import HIGHER_IS_BETTER, PublishedTable, load_published, published_for, published_tables

SIZES = {
    "hot-figure-3": (1, 0, 0),
    "hot-figure-4": (1, 0, 0),
    "hot-stocks-table-1": (13, 3, 1),
    "hot-stocks-table-2": (6, 3, 1),
    "hot-stocks-table-3": (4, 3, 1),
    "hot-table-1": (12, 10, 1),
    "hot-table-10": (1, 12, 1),
    "hot-table-11": (1, 15, 4),
    "hot-table-12": (12, 10, 4),
    "hot-table-2": (12, 12, 1),
    "hot-table-3": (4, 6, 1),
    "hot-table-4": (4, 6, 1),
    "hot-table-5": (4, 6, 1),
    "hot-table-6": (4, 6, 1),
    "hot-table-7": (5, 4, 1),
    "hot-table-8": (6, 4, 1),
    "itransformer-ett": (4, 6, 4),
    "ndlinear-figure-21": (2, 2, 1),
    "ndlinear-table-2": (2, 4, 1),
    "ndlinear-table-3": (2, 6, 1),
    "ndlinear-table-4": (4, 8, 1),
    "ndlinear-table-5": (2, 4, 1),
    "ndlinear-table-6": (3, 12, 1),
    "ndlinear-table-7": (12, 2, 1),
    "olinear": (1, 8, 4),
    "tga-figure-2": (3, 0, 0),
}
"""Methods, columns with their metrics, and lines per method."""
GAPS = {
    ("hot-table-2", "dwt-cv", "synapse", "auc"),
    ("hot-table-2", "dwt-cv", "synapse", "acc"),
    ("hot-table-2", "mdanet", "fracture", "auc"),
    ("hot-table-2", "mdanet", "fracture", "acc"),
    ("hot-table-2", "cdtransformer", "organ", "auc"),
    ("hot-table-2", "cdtransformer", "organ", "acc"),
    *(
        ("itransformer-ett", "rlinear", column, metric)
        for column in ("ett_h1", "ett_h2", "ett_m1")
        for metric in ("mse", "mae")
    ),
    *(("hot-stocks-table-1", method, "stocknet", "f1") for method in ("slot", "capte", "teanet", "nl-lstm")),
}
"""Cells that the papers leave empty, and those of peers that no recipe measures."""


def cells_of(name):
    """All cells of a table: (method, column, metric, horizon) to the figure, or None for an empty one."""
    table = load_published(name)
    return {
        (method, *head, horizon): table.figure(method, *head, horizon)
        for method, printed in table.methods.items()
        for horizon in printed.figures
        for head in table.heads
    }


def values(name, method, horizon=None):
    """Figures of one line by column and metric."""
    table = load_published(name)
    return {head: table.figure(method, *head, horizon).value for head in table.heads}


def best(name, head, horizon=None):
    """Methods that have the best figure of a column."""
    table = load_published(name)
    known = {key: figure.value for key in table.methods if (figure := table.figure(key, *head, horizon))}
    top = (max if HIGHER_IS_BETTER[head[1]] else min)(known.values())
    return {key for key, value in known.items() if value == top}


def test_every_table_has_all_its_methods_and_columns():
    assert published_tables() == tuple(sorted(SIZES))
    for name, (methods, heads, lines) in SIZES.items():
        table = load_published(name)
        assert (len(table.methods), len(table.heads)) == (methods, heads), name
        assert {len(method.figures) for method in table.methods.values()} == {lines}, name


def test_the_only_empty_cells_are_those_that_the_papers_leave_empty():
    empty = {(name, *place[:3]) for name in SIZES for place, figure in cells_of(name).items() if figure is None}
    assert empty == GAPS


def test_percentages_are_shares():
    shares = ("acc", "auc", "f1", "weighted_f1", "top5", "hard_auc")
    found = [figure for name in SIZES for place, figure in cells_of(name).items() if place[2] in shares and figure]
    assert len(found) == 296 and all(0.3 < figure.value < 1 for figure in found)
    assert all(figure.deviation < 0.03 for figure in found if figure.deviation is not None)


@pytest.mark.parametrize(
    ("name", "place", "value", "deviation"),
    [
        ("hot-table-1", ("autoformer", "ecl", "mse"), 0.227, None),
        ("hot-table-1", ("timesnet", "exchange", "mae"), 0.443, None),
        ("hot-table-12", ("crossformer", "exchange", "mae", 720), 1.068, None),
        ("hot-table-12", ("patchtst", "solar", "mse", 336), 0.290, None),
        ("hot-table-2", ("cdtransformer", "nodule", "auc"), 0.943, None),
        ("hot-table-2", ("resnet50-acs", "synapse", "acc"), 0.709, None),
        ("hot-table-4", ("hw", "nodule", "acc"), 0.858, None),
        ("hot-table-6", ("full-kernel", "vessel", "auc"), 0.981, None),
        ("hot-table-7", ("traffic", "windows", "variates"), 862, None),
        ("hot-table-8", ("adrenal", "cases", "validation"), 98, None),
        ("hot-table-10", ("hot", "nodule", "acc"), 0.877, 0.01),
        ("hot-table-11", ("hot", "exchange", "smape", 720), 0.644, 0.005),
        ("hot-stocks-table-1", ("arima", "stocknet", "mcc"), -0.021, None),
        ("hot-stocks-table-1", ("slot", "stocknet", "mcc"), 0.2065, None),
        ("ndlinear-figure-21", ("ndlinear", "opt_mid", "parameters"), 337_000_000, None),
        ("ndlinear-table-2", ("ndlinear", "cifar100", "parameters"), 433_000, None),
        ("ndlinear-table-3", ("linear", "cola", "hard_auc"), 0.7127, 0.0264),
        ("ndlinear-table-4", ("rnn", "ett_h2", "mse"), 0.2636, 0.0949),
        ("ndlinear-table-5", ("ndlinear", "delivery", "mse"), 67.824, None),
        ("ndlinear-table-6", ("linear-star", "lsst", "parameters"), 15375, None),
        ("ndlinear-table-7", ("nd-400-3", "cifar100", "top5"), 0.7414, 0.0166),
    ],
)
def test_figures_are_as_printed(name, place, value, deviation):
    assert load_published(name).figure(*place) == (value, deviation)


def test_facts_of_the_figures_are_as_printed():
    forecasts, volumes = load_published("hot-table-1").methods, load_published("hot-table-2").methods
    assert forecasts["timesnet"].facts == {"year": 2023, "parameters": "301M", "complexity": None}
    assert forecasts["hot"].facts == {"year": None, "parameters": "620K", "complexity": "O(NTD²)"}
    assert volumes["cdtransformer"].facts == {"year": 2024, "parameters": None, "complexity": "O(N³D² + N⁴D)"}
    assert volumes["dwt-cv"].parameters == "12-25M"


def test_table_1_is_the_mean_of_table_12_but_for_its_slips():
    whole = load_published("hot-table-12")
    slips = {}
    for (method, column, metric, _), printed in cells_of("hot-table-1").items():
        mean = statistics.fmean(whole.figure(method, column, metric, horizon).value for horizon in whole.horizons)
        if abs(printed.value - mean) > 0.0005 + 1e-9:
            slips[method, column, metric] = pytest.approx(mean)
    listed = load_published("hot-table-1").slips
    assert {(slip.method, slip.column, slip.metric): slip.implied for slip in listed} == slips
    assert len(slips) == 7


@pytest.mark.parametrize(
    ("name", "method", "other"),
    [
        ("hot-table-3", "both", "hot-table-1"),
        ("hot-table-5", "factorised-kernel", "hot-table-1"),
        ("hot-table-4", "hwd", "hot-table-2"),
        ("hot-table-6", "factorised-kernel", "hot-table-2"),
        ("hot-table-10", "hot", "hot-table-2"),
    ],
)
def test_a_methods_row_is_the_same_in_every_table(name, method, other):
    whole = values(other, "hot")
    assert values(name, method) == {head: whole[head] for head in load_published(name).heads}


def test_the_means_over_seeds_are_those_of_the_whole_table():
    for horizon in (96, 192, 336, 720):
        over_seeds = values("hot-table-11", "hot", horizon)
        assert {head: over_seeds[head] for head in load_published("hot-table-12").heads} == values(
            "hot-table-12", "hot", horizon
        )


@pytest.mark.parametrize(
    ("name", "method"), [("hot-stocks-table-2", "multimodal-kernelised"), ("hot-stocks-table-3", "both")]
)
def test_ablations_of_stocks_end_in_the_figures_of_table_1(name, method):
    rounded = {head: round(value, 3) for head, value in values("hot-stocks-table-1", "hot").items()}
    assert values(name, method) == rounded


def test_hot_is_the_best_of_table_1_as_its_text_says():
    assert all(best("hot-table-1", head) == {"hot"} for head in load_published("hot-table-1").heads)


def test_the_note_on_table_12_counts_right():
    lost = {
        (column, metric, horizon): best("hot-table-12", (column, metric), horizon)
        for horizon in (96, 192, 336, 720)
        for column, metric in load_published("hot-table-12").heads
        if "hot" not in best("hot-table-12", (column, metric), horizon)
    }
    assert lost == {
        **{("ecl", "mae", horizon): {"itransformer"} for horizon in (96, 192, 336)},
        ("solar", "mse", 720): {"itransformer"},
        ("traffic", "mae", 336): {"itransformer"},
        **{("exchange", metric, 336): {"patchtst"} for metric in ("mse", "mae")},
        **{("weather", "mse", horizon): {"crossformer"} for horizon in (96, 192)},
        ("weather", "mse", 720): {"dlinear"},
    }


def ahead_of_hot(column, metric):
    """Methods of table 2 that are better than HOT."""
    table = load_published("hot-table-2")
    figures = {key: table.figure(key, column, metric) for key in table.methods}
    return {key for key, figure in figures.items() if figure and figure.value > figures["hot"].value}


def test_the_notes_on_table_2_are_right():
    assert ahead_of_hot("fracture", "auc") == {"resnet50-acs"}
    assert ahead_of_hot("nodule", "auc") == {"cdtransformer", "auto-sklearn", "dwt-cv"}
    assert ahead_of_hot("nodule", "acc") == {"dwt-cv", "cdtransformer"}
    assert ahead_of_hot("synapse", "auc") == {"cdtransformer", "resnet50"}
    claimed = [(column, "auc") for column in ("organ", "adrenal", "vessel")]
    claimed += [(column, "acc") for column in ("organ", "fracture", "adrenal", "vessel")]
    assert all(best("hot-table-2", head) == {"hot"} for head in claimed)


@pytest.mark.parametrize("name", [f"ndlinear-table-{number}" for number in (2, 3, 5, 6)])
def test_ndlinear_is_better_with_fewer_parameters(name):
    dense, factored = values(name, "linear"), values(name, "ndlinear")
    for head in load_published(name).heads:
        higher = HIGHER_IS_BETTER.get(head[1], False)
        assert factored[head] > dense[head] if higher else factored[head] < dense[head]


def test_the_notes_on_tables_6_and_7_of_ndlinear_are_right():
    dense, factored = values("ndlinear-table-6", "linear"), values("ndlinear-table-6", "ndlinear")
    saved = {column: 1 - factored[column, "parameters"] / dense[column, "parameters"] for column, _ in dense}
    assert max(saved, key=saved.get) == "chlorine" and round(saved["chlorine"], 2) == 0.48
    table = load_published("ndlinear-table-7")
    behind = {
        (size, blocks)
        for column, metric in table.heads
        for size in (200, 300, 400)
        for blocks in (3, 6, 9)
        if table.figure(f"nd-{size}-{blocks}", column, metric) < table.figure(f"naive-500-{blocks}", column, metric)
    }
    assert behind == {(200, 6), (200, 9), (300, 9)}


@pytest.mark.parametrize("name", ["hot-figure-3", "hot-figure-4", "tga-figure-2"])
def test_a_figure_without_values_says_so(name):
    assert "has the caption alone" in load_published(name).notes[0] and load_published(name).lines() == []


def test_lines_end_in_the_mean_over_horizons():
    lines = [line for line in load_published("hot-table-12").lines() if line.method == "HOT"]
    assert [line.horizon for line in lines] == [96, 192, 336, 720, "mean"]
    assert lines[-1].figures["traffic", "mae"] == (pytest.approx(0.2825), None)


WITHOUT_FIGURES = {
    "segmentation", "hot-table-9", "tga-controls", "tga-trained",
    "hot-components-forecast", "hot-components-volumes", "ndlinear-figure-17", "ndlinear-opt",
    "ndlinear-opt-full", "ndlinear-places", "ndlinear-table-3-searched",
    "ndlinear-table-7-small", "ndlinear-table-7-teacher", "ndlinear-table-7-tenth",
    "hot-point", "short-hot-tables-3-5", "stocknet-rescored",
}  # fmt: skip
"""Tables of our own, or of figures that print no values."""


def test_the_tables_that_recipes_belong_to_are_known():
    known = {table: published.source for table in table_names() if (published := published_for(table))}
    assert set(table_names()) - set(known) == WITHOUT_FIGURES
    assert known["hot-table-1"] == known["floor"] == "HOT, table 12" and known["adrenal"] == "HOT, table 2"


SMALL = {
    "title": "small",
    "source": "here",
    "columns": {"a": ["mse"], "b": ["mse"]},
    "methods": {"x": {"title": "X", "figures": [0.1, 0.2]}},
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"methods": {"x": {"title": "X", "figures": [0.1]}}}, r"methods.x.figures: give 2 numbers a line. Got 1"),
        ({"horizons": [1]}, r"methods.x.figures: give horizons \[1\]. Got \[None\]"),
        ({"methods": {"x": {"title": "X", "figure": []}}}, r"methods.x.figure is not a known field"),
        ({"methods": {"x": {"title": "X", "figures": [0.1, "many"]}}}, r"methods.x.figures"),
        ({"own": "y"}, r"own: is one of x. Got y"),
        (
            {"slips": [{"method": "x", "column": "c", "metric": "mse", "implied": 1}]},
            r"slips: no cell is x c mse",
        ),
    ],
)
def test_a_wrong_field_of_a_table_is_named(change, message):
    with pytest.raises(ConfigError, match=message):
        PublishedTable.parse(SMALL | change, "small.yaml")


def test_an_unknown_table_gets_the_nearest():
    with pytest.raises(ConfigError, match=r"called hot-tabel-1; did you mean hot-table-1\?"):
        load_published("hot-tabel-1")


def test_tasks_agree_on_which_values_are_better():
    check_all(check_directions, table_names())


def check_directions(table):
    recipe = next(iter(recipes_of(table).values()))
    task = task_of(recipe.task)
    declared = task.metrics(task.configure(recipe.settings_of_runs()[0]))
    known = {metric.name: metric.higher for metric in declared if metric.name in HIGHER_IS_BETTER}
    assert set(recipe.figures) <= set(known) and known == {name: HIGHER_IS_BETTER[name] for name in known}
