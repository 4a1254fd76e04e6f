"""The report of a forecast: forecasts first, then scores; runs compared."""

import dataclasses
import re
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from multiway import workflows
from multiway.data import CheckReport
from multiway.errors import ConfigError, RunError
from multiway.report import Page as Content
from multiway.report import render, text
from multiway.report.scores import models_table
from multiway.tasks import lifecycle
from multiway.tasks.choice import Choice
from multiway.tasks.forecasting.encode import prepare_panel
from multiway.tasks.forecasting.page import SUBJECT, compare, head, report, sections
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.hub import describe_run
from multiway.tasks.page_parts import data_check, split_table, train_command
from report_pages import Page
from tasks.forecasting.panels import TINY, fitted, forecast, make_config


@pytest.fixture(scope="module")
def page(finished):
    return Page(report([finished]))


def test_forecasts_come_first_then_the_scores_and_the_run_itself_last(page):
    assert page.sections() == [
        "forecasts", "scores", "errors", "coverage", "attention", "data-check", "splits", "training", "environment",
    ]  # fmt: skip
    assert "Deletion test" in page.text and "The choice on validation" in page.text
    assert "FLOPs" in page.text and "None" not in page.text and "nan" not in page.text.lower().split()


def test_the_future_is_shown_before_the_past(finished):
    panels = next(sections([finished], finished_data(finished))).content[0]
    assert [group.title for group in panels.groups] == ["Next steps", "Last test window"]
    assert {name for name, _ in panels.groups[0].panels} == set(finished.state.names)


def finished_data(run):
    return prepare_panel(run.config, run.config.data)


def test_scores_by_step_and_variate_are_means_of_the_errors(finished):
    _, errors, *_ = sections([finished], None)
    series = {item.name: item.values for item in errors.content[0].drawing.series}
    rows = pd.read_parquet(finished.folder.path / "errors.parquet").query("split == 'test' and model == 'ridge'")
    np.testing.assert_allclose(series["ridge"], rows.groupby("step")["mse"].mean())
    own = pd.read_parquet(finished.folder.path / "errors.parquet").query("split == 'test' and model == 'multiway'")
    worst = own.groupby("variate")["mse"].mean().idxmax()
    assert errors.content[1].bars[0].name == worst


def test_a_blend_is_the_first_of_its_charts_and_bold_in_its_tables(finished):
    """Its scores stand under the name of what holds all candidates."""
    weights = {"ridge": 0.6, "network": 0.4}
    facts = {**finished.facts, "selection": {**finished.facts["selection"], "answer": "blend", "weights": weights}}
    blend = dataclasses.replace(finished, answer=Choice(name="blend", reason="", weights=weights), facts=facts)
    _, errors, *_ = sections([blend], None)
    assert errors.content[1].legend[0] == ("multiway", "f0")
    table = models_table(SUBJECT.scores([blend]), {})
    assert [table.rows[row][0].text for row in table.strong] == ["multiway"]


def test_charts_of_errors_name_models_in_words(finished):
    other = {"seasonal_naive": "regression_log"}
    tables = {**finished.tables, "errors": finished.tables["errors"].replace({"model": other})}
    scores = [{**row, "model": other.get(row["model"], row["model"])} for row in finished.scores]
    _, errors, *_ = sections([dataclasses.replace(finished, tables=tables, scores=scores)], None)
    by_step, by_series = ({name for name, _ in section.legend} for section in errors.content)
    assert by_step == by_series and "regression of logarithms" in by_series


def test_the_test_rows_are_said_to_bear_the_choice_out_or_not(finished):
    scores = [{**row, "value": 1.0} if row["model"] == "ridge" else {**row, "value": 2.0} for row in finished.scores]
    told = head([dataclasses.replace(finished, scores=scores)])
    said = [told.verdict, *told.support]
    assert "100.0\u202f% above ridge" in said[0]
    assert said[0].endswith("It is no better than ridge there.")
    assert said[1].startswith("The network alone is no better than ridge on the test rows")
    without = [row for row in finished.scores if row["model"] != "network"]
    said = head([dataclasses.replace(finished, scores=without)]).support
    assert not any("The network alone" in sentence for sentence in said)


def test_of_series_in_several_units_the_worst_is_told_in_its_own(finished):
    errors = pd.read_parquet(finished.folder.path / "errors.parquet").query("split == 'test' and model == 'multiway'")
    scaled = errors.groupby("variate")["mae"].mean()
    values = pd.read_csv(finished.config.data)[scaled.idxmax()]
    off = scaled.max() * values[: finished.facts["splits"]["train"]["rows"]].std(ddof=0)
    said = head([finished]).headline
    assert said.startswith("Over 3 series, errors are ")
    assert said.endswith(f"; the worst, {scaled.idxmax()}, is off by {text.figure(off)} an hour.")


def test_a_model_card_names_the_one_model_that_answers_once(finished):
    card = "\n".join(describe_run(finished))
    rows = [[cell.strip() for cell in line.split("|")[1:3]] for line in card.splitlines() if line.startswith("| ")]
    assert [name for name, part in rows if part == "answer"] == ["network"]
    assert ["ridge", "baseline"] in rows and "multiway" not in [name for name, _ in rows]
    assert len({name for name, _ in rows}) == len(rows)
    assert head([finished]).headline in card


def test_data_that_are_gone_leave_the_rest(finished, tmp_path):
    gone = dataclasses.replace(finished, prepared=None, config=finished.config.replace(data=str(tmp_path / "gone.csv")))
    page = Page(report([gone]))
    assert "data-check" not in page.sections() and "scores" in page.sections()
    assert "could not be reread" in page.text


def test_nothing_is_forecast_from_data_that_changed_since_the_training(finished, tmp_path):
    pd.read_csv(finished.config.data).iloc[:-1].to_csv(tmp_path / "less.csv", index=False)
    config = finished.config.replace(data=str(tmp_path / "less.csv"))
    page = Page(report([dataclasses.replace(finished, prepared=None, config=config)]))
    assert "could not be reread" in page.text


WITHOUT_TORCH = """
import sys
from multiway import workflows
print(workflows.report(sys.argv[1], out=sys.argv[2]), "torch" in sys.modules)
"""


def test_a_training_keeps_the_report_that_a_loaded_run_gives_and_it_needs_no_torch(finished, tmp_path):
    folder, out = finished.folder.path, tmp_path / "page.html"
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, folder, out], check=True, capture_output=True, text=True
    )
    assert done.stdout == f"{out} False\n"
    assert out.read_text() == report([lifecycle.load(folder)])


def test_a_report_that_is_kept_is_that_of_the_run(finished, tmp_path):
    path = shutil.copytree(finished.folder.path, tmp_path / "run")
    kept = path / "page.json"
    kept.write_text(kept.read_text().replace("Forecast", "Forged", 1))
    with pytest.raises(RunError, match=r"changed or missing since training: page\.json"):
        workflows.report(path)


def test_full_attention_has_no_maps_to_show(data_file, tmp_path):
    model = {**TINY, "attention": "full"}
    run = lifecycle.start(TASK, make_config(data=str(data_file), answer="network", model=model), tmp_path / "run")
    page = Page(report([run]))
    assert "attention" not in page.sections() and "forecasts" in page.sections()


def test_a_frame_in_memory_has_no_command(finished):
    assert train_command(dataclasses.replace(finished, config=finished.config.replace(data=None))) == ""


def test_splits_take_counts_by_name_apart_and_leave_out_what_nobody_knows():
    splits = {"train": {"cases": 8, "patients": None, "classes": {"a": 2, "b": 6}}, "test": {"cases": 0, "classes": {}}}
    table = split_table(splits, {"cases": "Cases", "patients": "Patients", "classes": "Classes"}, total="cases")
    assert table.columns == ["Split", "Cases", "a", "b"]
    assert [(cell.text, cell.small) for cell in table.rows[0][1:]] == [
        ("8", ""),
        ("2", "25.0\u202f%"),
        ("6", "75.0\u202f%"),
    ]


def test_runs_are_compared_with_their_baselines_and_what_differs(finished):
    other = dataclasses.replace(finished, config=finished.config.replace(levels=(90.0,)))
    page = Page(compare([[finished], [other]]))
    assert page.sections() == ["scores", "errors", "training", "baselines", "differences"]
    assert "levels=[90.0]" in page.text and "loads (1)" not in page.text and "cannot be compared" not in page.text
    assert "--set 'levels=[90.0]'" in page.text and "Look-back" not in page.text
    assert re.search(r"against levels=\[", page.text) and "against ridge" in page.text


def test_many_months_of_the_data_check_are_folded():
    months = {f"2024-{month:02d}": f"{month} days" for month in range(1, 8)}
    facts, table, _ = data_check(CheckReport(source="a", summary={"days": "60", **months}, findings=())).content
    assert [fact.label for fact in facts.items] == ["Days"]
    assert table.fold == "Each of 7 months" and [tuple(row) for row in table.rows] == [*months.items()]
    few = dict([*months.items()][:3])
    facts, table, _ = data_check(CheckReport(source="a", summary=few, findings=())).content
    assert len(facts.items) == 3 and table is None


def test_a_long_fact_of_the_data_check_is_whole():
    words = "; ".join(f"split {place} has 1,112 labels" for place in range(9))
    part = data_check(CheckReport(source="a", summary={"labels": words}, findings=()))
    assert words in Page(render(Content(title="t", kicker="k", parts=[part]))).text


def test_days_of_the_data_check_have_no_hours():
    summary = {"from": pd.Timestamp("2024-01-01"), "to": pd.Timestamp("2024-01-31 06:00"), "gaps": None}
    facts = data_check(CheckReport(source="a.csv", summary=summary, findings=())).content[0].items
    assert [tuple(fact)[:2] for fact in facts] == [("From", "2024-01-01"), ("To", "2024-01-31 06:00:00")]


@pytest.fixture(scope="module")
def short_sighted():
    """Months of a series with a season that the look-back of a run is too short for."""
    steps = np.arange(120)
    values = 10 + 3 * np.sin(2 * np.pi * steps / 12) + 0.2 * np.random.default_rng(4).standard_normal(120)
    frame = pd.DataFrame({"date": pd.date_range("2010-01-01", periods=120, freq="MS"), "sales": values})
    return fitted(frame, network=False, season=12, lookback=8, horizon=3), frame


def test_a_season_before_is_that_of_all_rows(short_sighted):
    """Seasonal naive looks past windows that are shorter than a season, in scores, in the headline and ahead."""
    run, frame = short_sighted
    sales, test = frame["sales"].to_numpy(), run.prepared.borders.test
    starts = np.arange(test[0], test[1] - 2)
    errors = [np.abs(sales[row : row + 3] - sales[row - 12 : row - 9]) for row in starts]
    scored = {(row["model"], row["metric"], row["scale"]): row["value"] for row in run.scores if row["split"] == "test"}
    assert scored["seasonal_naive", "mae", "original"] == pytest.approx(np.mean(errors), rel=1e-5)
    assert "the same month last year" in head([run]).headline
    named = fitted(frame, network=False, season=12, lookback=8, horizon=3, answer="seasonal_naive")
    assert forecast(named, frame, layout="wide")["sales"].to_numpy() == pytest.approx(sales[-12:-9])


def test_no_line_names_a_season_that_the_training_rows_do_not_hold(short_sighted):
    _, frame = short_sighted
    run = fitted(frame, network=False, season=90, lookback=8, horizon=3)
    assert "seasonal_naive" not in {row["model"] for row in run.scores} | set(run.candidates)
    assert "the last value" in head([run]).headline
    page = report([run])
    assert "easonal naive" not in page.replace("no seasonal naive forecast", "")
    with pytest.raises(ConfigError, match=r"answer: rows, season and look-back allow naive, ridge.*seasonal_naive"):
        fitted(frame, network=False, season=90, lookback=8, horizon=3, answer="seasonal_naive")


def test_a_score_over_a_season_that_the_training_rows_do_not_hold_is_undefined(short_sighted):
    _, frame = short_sighted
    run = fitted(frame, network=False, season=100, lookback=8, horizon=3)
    assert {row["value"] for row in run.scores if row["metric"] in ("mase", "sql")} == {None}
    report([run])
