"""Measured cells against every published method: rows, means over horizons, deviations, and the page."""

import json
import math
import statistics
from pathlib import Path

import pytest

import multiway_papers as papers
from interruption import left_over
from multiway.errors import ConfigError, RunError
from multiway.workflows.recipe import load_recipe
from multiway_papers import reproducing
from report_pages import Page


def cell(recipe, **fields):
    return {"recipe": recipe, "row": "-", "seeds": 2, **fields}


EXCHANGE = [
    cell(f"hot-exchange-{horizon}", horizons=str(horizon), mse=mse, mae=0.5, mse_sd=0.01, parameters=1500)
    for horizon, mse in ((96, 0.0821), (192, 0.2), (336, 0.3), (720, 0.9))
]


def by_method(rows):
    return {(row["method"], row["horizon"]): row for row in rows}


def test_published_tables_are_listed():
    rows = papers.list_published()
    assert {"table": "hot-table-2", "source": "HOT, table 2", "methods": 12, "title": "Volumes of MedMNIST 3D"} in rows


def test_a_published_table_has_its_means_slips_and_notes():
    found = papers.published("hot-table-1")
    assert found["rows"][0] == {
        "method": "AutoFormer", "year": 2021, "parameters": "15M", "complexity": None,
        "ecl mse": 0.227, "ecl mae": 0.338, "weather mse": 0.338, "weather mae": 0.382, "traffic mse": 0.628,
        "traffic mae": 0.379, "solar mse": 0.885, "solar mae": 0.711, "exchange mse": 0.613, "exchange mae": 0.539,
    }  # fmt: skip
    slip = {"method": "Stationary", "figure": "solar mae", "printed": 0.381, "implied": 0.278}
    assert slip in found["slips"] and len(found["notes"]) == 2
    means = by_method(papers.published("hot-table-12")["rows"])
    assert means["HOT", "mean"]["exchange mse"] == pytest.approx((0.083 + 0.173 + 0.313 + 0.804) / 4)


def test_every_method_is_compared_at_a_measured_horizon():
    rows = papers.compare_published("hot-table-1", EXCHANGE[:1])
    assert len(rows) == 13 and {row["horizon"] for row in rows} == {96}
    assert rows[-1] == {
        "method": "multiway, paper", "year": None, "horizon": 96,
        "exchange mse": 0.0821, "exchange mse sd": 0.01, "exchange mae": 0.5, "exchange mae sd": None,
    }  # fmt: skip
    assert by_method(rows)["HOT", 96]["exchange mse sd"] == 0.005  # of table 11
    assert by_method(rows)["PatchTST", 96]["exchange mae"] == 0.205


def test_a_table_without_recipes_of_its_own_is_measured_by_those_of_another(tmp_path):
    cells = [{**each, "smape": 0.25, "smape_sd": 0.125} for each in EXCHANGE]
    assert [row["recipe"] for row in papers.reproduce("hot-table-11", measured=stored(tmp_path, cells))] == [
        f"hot-exchange-{horizon}" for horizon in (96, 192, 336, 720)
    ]
    rows = by_method(papers.compare_published("hot-table-11", cells))
    assert rows["HOT", 720]["exchange smape"] == 0.644 and rows["HOT", 720]["exchange smape sd"] == 0.005
    assert rows["multiway, paper", 96]["exchange smape"] is None  # in other units than print's
    assert len(papers.compare_published("hot-table-12", EXCHANGE[:1])) == 13


def test_one_model_for_all_horizons_is_compared_at_each_of_them():
    scores = {f"{metric}_{horizon}": horizon / 1000 for horizon in (96, 192, 336, 720) for metric in ("mse", "mae")}
    one = cell("hot-later-code-exchange", horizons="720", mse=0.72, mae=0.72, mse_96_sd=0.01, **scores)
    rows = by_method(papers.compare_published("hot-later-code", [one]))
    ours = {horizon: row["exchange mse"] for (method, horizon), row in rows.items() if method == "multiway, later code"}
    assert ours == {96: 0.096, 192: 0.192, 336: 0.336, 720: 0.72, "mean": pytest.approx(0.336)}
    assert rows["multiway, later code", 96]["exchange mse sd"] == 0.01 and rows["HOT", 96]["exchange mse"] == 0.083


def test_all_horizons_bring_their_mean_and_one_missing_does_not():
    rows = papers.compare_published("hot-table-1", EXCHANGE)
    assert [row["horizon"] for row in rows[::13]] == [96, 192, 336, 720, "mean"]
    mean = by_method(rows)["multiway, paper", "mean"]
    assert mean["exchange mse"] == pytest.approx((0.0821 + 0.2 + 0.3 + 0.9) / 4) and mean["exchange mse sd"] is None
    assert {row["horizon"] for row in papers.compare_published("hot-table-1", EXCHANGE[1:])} == {192, 336, 720}


def test_a_mean_is_of_the_sets_that_have_all_horizons():
    rows = papers.compare_published("hot-table-1", [*EXCHANGE, cell("hot-ecl-96", mse=0.2)])
    assert by_method(rows)["HOT", 96]["ecl mse"] == 0.142 and by_method(rows)["HOT", 192]["ecl mse"] is None
    assert by_method(rows)["HOT", "mean"]["ecl mse"] is None


def test_variants_are_lines_and_a_method_without_the_set_is_none():
    cells = [cell("hot-organ", auc=0.99, acc=0.9, parameters=7_000_000), cell("resnet18-organ", auc=0.98, acc=0.8)]
    rows = papers.compare_published("hot-table-2", cells)
    assert [row["method"] for row in rows[-2:]] == ["multiway, HOT, paper", "multiway, ResNet-18 3D"]
    assert "CdTransformer" not in {row["method"] for row in rows} and len(rows) == 13
    assert rows[-2]["parameters"] == "7M" and rows[0]["parameters"] == "12M"


def test_rows_of_one_data_set_stay_apart():
    cells = [cell("hot-stocks", acc=0.52), cell("hot-stocks-complete", acc=0.54)]
    rows = papers.compare_published("hot-stocks-table-1", cells)
    assert [row["method"] for row in rows[-2:]] == ["multiway, paper", "multiway, stocknet complete, paper"]


def test_counts_of_parameters_are_compared_where_a_table_prints_them_per_set():
    rows = papers.compare_published("ndlinear-table-5", [cell("tabular-cardio-linear", acc=0.73, parameters=18306)])
    assert rows[-1] == {
        "method": "multiway, Linear", "cardio parameters": 18306, "cardio acc": 0.73
    }  # fmt: skip
    assert rows[1]["cardio parameters"] == 5962


def test_cells_without_a_published_column_bring_no_rows():
    assert papers.compare_published("floor", [cell("floor-etth1-96", mse=0.3)]) == []
    assert papers.compare_published("segmentation", [cell("indian-pines", dice=0.3)]) == []
    cells = [cell("hot-exchange-96", mse="much", mae=math.nan)]
    assert papers.compare_published("hot-table-1", cells) == []


def test_a_cell_at_one_horizon_is_not_compared_with_a_printed_mean():
    mean = cell("hot-order-weather-time", horizons="96,192,336,720", mse=0.3, mae=0.3)
    methods = [row["method"] for row in papers.compare_published("hot-table-3", [mean])]
    assert methods[-1] == "multiway, attends time, paper" and len(methods) > 1
    assert papers.compare_published("hot-table-3", [mean | {"horizons": "96"}]) == []


def test_a_mean_over_horizons_is_not_read_as_one_of_them(tmp_path):
    mean = cell("hot-order-weather-time", horizons="96,192,336,720", mse=0.3)
    narrow = cell("hot-order-weather-time", horizons="96", mse=0.2)
    read = {"table": "hot-table-3", "measured": stored(tmp_path, [narrow, mean])}
    assert [row["mse"] for row in papers.reproduce(**read)] == [0.3]
    assert [row["mse"] for row in papers.reproduce(**read, horizons=["96"])] == [0.2]


def test_a_cell_of_several_horizons_is_measured_at_the_chosen_ones(monkeypatch):
    found = {}
    monkeypatch.setattr(reproducing, "measure_cell", lambda name, recipe, *rest: found.setdefault(name, recipe) and {})
    list(papers.reproduce("hot-table-3", rows=["weather"], variants=["attends time"], horizons=["720", "96"]))
    cells = {name: [run["horizon"] for run in recipe.settings_of_runs()] for name, recipe in found.items()}
    assert cells["hot-order-weather-time"] == [96, 720] and found["hot-order-weather-time"].figures == {}


def stored(tmp_path, cells):
    path = tmp_path / "cells.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in cells))
    return path


def test_measured_cells_are_read_and_nothing_is_run(tmp_path):
    benchmark, parameters = {"benchmark": "volumes"}, {"multiway": 1500}
    later = [cell("hot-exchange-96", mse=mse, each=[{"mse": mse}], parameters=parameters) for mse in (0.1, 0.2)]
    path = stored(tmp_path, [EXCHANGE[1], benchmark, *later, cell("floor-exchange-96", mse=0.3)])
    rows = list(papers.reproduce("hot-table-1", measured=path))
    assert [(row["recipe"], row["mse"]) for row in rows] == [("hot-exchange-96", 0.2), ("hot-exchange-192", 0.2)]
    assert rows[0]["parameters"] == 1500 and "each" not in rows[0]
    assert [row["recipe"] for row in papers.reproduce("hot-table-1", horizons=["192"], measured=path)] == [
        "hot-exchange-192"
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"measured": "none.jsonl"}, r"none.jsonl is not a file. Give the JSON lines that"),
        ({"rows": ["ecl"]}, r"cells.jsonl holds no chosen cell of hot-table-1. `multiway reproduce hot-table-1 --out"),
        ({"overrides": {"a": 1}}, r"nothing is run. Leave out what runs would need"),
        ({"rows": ["none"]}, r"no cell of hot-table-1 has rows none"),
    ],
)
def test_what_cannot_be_read_is_one_line(given, message, tmp_path):
    given = {"measured": stored(tmp_path, EXCHANGE)} | given
    if isinstance(given["measured"], str):
        given["measured"] = tmp_path / given["measured"]
    with pytest.raises(ConfigError, match=message):
        list(papers.reproduce("hot-table-1", **given))


@pytest.mark.parametrize("line", [b"{", b"\xff", b"[" * 100_000], ids=["cut", "no text", "deep"])
def test_a_line_that_is_no_json_is_named(line, tmp_path):
    path = stored(tmp_path, EXCHANGE)
    path.write_bytes(path.read_bytes() + line)
    with pytest.raises(ConfigError, match=r"cells.jsonl, line 5: is not JSON"):
        list(papers.reproduce("hot-table-1", measured=path))


def test_files_left_by_a_killed_command_are_removed_by_the_next_one(tmp_path):
    left = left_over(tmp_path / "page.html")
    left.write_text("half a page")
    drawn(tmp_path, "hot-table-1", EXCHANGE)
    assert not left.exists() and (tmp_path / "page.html").is_file()


def drawn(tmp_path, table, cells):
    page = tmp_path / "page.html"
    list(papers.reproduce(table, measured=stored(tmp_path, cells), report=page))
    return page.read_text()


def test_a_page_draws_published_and_ours_with_the_best_and_deviations(tmp_path):
    text = drawn(tmp_path, "hot-table-1", EXCHANGE)
    page = Page(text)
    words = [" ".join(each.split()) for each in page.texts]
    assert "Ours is the best or equal in 3 of 8 columns, and as good as HOT or better in 3 of 8." in words
    assert {"Horizon 96", "Horizon 720", "Mean over the horizons", "AutoFormer", "iTransformer", "0.082"} <= set(words)
    assert "±\u202f0.010" in text and "±\u202f0.005" in text


def test_a_page_marks_what_is_best_to_the_digits_of_the_paper(tmp_path):
    cells = [cell("hot-exchange-96", mse=0.0834, mae=0.2)]
    text = " ".join(drawn(tmp_path, "hot-table-1", cells).split())
    assert "Ours is the best or equal in 2 of 2 columns" in text


def test_a_page_has_the_notes_of_the_paper_and_of_our_cells_once(tmp_path):
    cells = [cell(f"hot-stocks-attends-{modes}-complete", acc=0.5) for modes in ("none", "both")]
    words = Page(drawn(tmp_path, "hot-stocks-table-3", cells)).texts
    assert sum("calendar alone scores ACC .987" in each for each in words) == 1
    assert words.count(load_recipe("hot-stocks-attends-none-complete").note) == 1


def test_a_page_of_a_table_that_no_paper_has_shows_what_was_measured(tmp_path):
    words = Page(drawn(tmp_path, "segmentation", [cell("indian-pines", dice=0.75)])).texts
    assert "0.7500" in words and "Measured" in words and "Published" not in words


def test_a_figure_is_drawn_over_the_sizes_that_were_measured(tmp_path):
    cells = [
        cell(f"tga-{row}-{kind}-{size}", acc=acc, train_acc=0.9, attention_parameters=count, tfidf_acc=tfidf)
        for row, kind, size, acc, count, tfidf in (
            ("mr", "ada", 64, 0.75, 12_352, None), ("trec", "tga", 4, 0.7, 32, None),
            ("trec", "tga", 256, 0.8, 224, 0.85), ("trec", "dpa", 256, 0.8, 196_608, None),
        )
    ]  # fmt: skip
    page = Page(drawn(tmp_path, "tga-figure-2", cells))
    titles = ["Parameters of the attention", "Accuracy in training", "Accuracy in testing"]
    assert [each for each in page.texts if each in titles] == 2 * titles
    assert {"trec", "mr", "Dot-Product Attention", "size of the embedding", "tfidf"} <= set(page.texts)
    assert {"100", "1,000", "10,000", "100,000"} <= set(page.texts)
    shown = page.texts[::-1]  # the links on top name the second panel first
    assert shown.index("mr") > shown.index("trec") and page.texts.count("tfidf") == 1
    assert page.texts.count("Additive Attention") == page.texts.count("Dot-Product Attention") == 3


def test_a_figure_over_heads_has_a_line_for_each_form(tmp_path):
    cells = [
        cell(f"hot-heads-{row}-{heads}{form}", **{metric: value})
        for row, metric in (("adrenal", "auc"), ("weather", "mse"))
        for form in ("", "-trainable")
        for heads, value in ((2, 0.5), (16, 0.25))
    ]
    left = Page(drawn(tmp_path, "hot-figure-3", cells[:4])).texts
    right = Page(drawn(tmp_path, "hot-figure-3-right", cells[4:])).texts
    assert {"adrenal", "AUC", "HOT, paper", "HOT, trainable", "heads", "2", "16"} <= set(left) and "MSE" not in left
    assert {"weather", "MSE", "HOT, paper"} <= set(right) and "AUC" not in right


def test_a_figure_of_costs_draws_memory_time_and_score(tmp_path):
    cells = [
        cell(f"hot-order-adrenal-{modes}", auc=auc, seconds=seconds, step_bytes=held)
        for modes, auc, seconds, held in (("none", 0.7, 30.0, 2_000_000), ("hwd", 0.9, 120.0, 8_000_000))
    ]
    text = drawn(tmp_path, "hot-figure-4", cells)
    page = Page(text)
    assert {"Memory of a training step", "Time of a seed", "AUC over the time of training"} <= set(page.texts)
    assert {"8\u202fMB", "60\u202fs", "15\u202fs"} <= {each.strip() for each in page.texts}  # of two seeds each
    assert "--size:26.0px;background:var(--c1)" in text and "--size:13.0px;background:var(--c0)" in text


def test_times_are_drawn_among_rows_of_one_device_alone(tmp_path):
    cells = [
        cell(f"hot-order-adrenal-{modes}", auc=0.7, seconds=seconds, step_bytes=1000, environment={"device": device})
        for modes, seconds, device in (("none", 30.0, "x86_64"), ("hw", 60.0, "x86_64"), ("hwd", 4.0, "NVIDIA H200"))
    ]
    texts = [each.strip() for each in Page(drawn(tmp_path, "hot-figure-4", cells)).texts]
    bars = texts[texts.index("Time of a seed on x86_64") :]
    first, second = bars.index("AUC on x86_64 over the time of training"), bars.index("Time of a seed on NVIDIA H200")
    assert "Time of a seed" not in texts and texts.count("Memory of a training step") == 1
    assert {"15\u202fs", "30\u202fs"} <= {*bars[:first]} and "2\u202fs" not in bars[:first]
    assert "2\u202fs" in bars[second:] and "AUC on NVIDIA H200 over the time of training" in bars[second:]


def test_a_page_that_cannot_be_written_is_refused_first(tmp_path):
    path = stored(tmp_path, EXCHANGE)
    with pytest.raises(RunError):
        next(papers.reproduce("hot-table-1", measured=path, report=path / "page.html"))


def test_kept_results_are_compared_with_the_papers():
    kept = Path(__file__).parents[2] / "results" / "floor.jsonl"
    rows = papers.compare_published("floor", list(papers.reproduce("floor", measured=kept)))
    assert rows[-1]["method"] == "multiway" and rows[-1]["weather mse"] < rows[-2]["weather mse"]
    assert rows[-2]["weather mse"] == statistics.fmean([0.169, 0.214, 0.268, 0.350])  # of the four horizons


def test_a_table_of_recipes_without_printed_figures_says_how_it_is_measured():
    for name in ("ndlinear-opt", "ndlinear-opt-full", "ndlinear-figure-17", "ndlinear-table-7-tenth"):
        with pytest.raises(ConfigError, match=f"{name} is a table of recipes, and the paper prints no .* {name}`"):
            papers.published(name)
    with pytest.raises(ConfigError, match=r"and `multiway recipes` lists its published figures\..* peers`"):
        papers.published("peers")
    with pytest.raises(
        ConfigError, match="no published table is called ndlinear-tabel-7; did you mean ndlinear-table-7"
    ):
        papers.published("ndlinear-tabel-7")
