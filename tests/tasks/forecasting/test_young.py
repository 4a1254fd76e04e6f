"""A series that begins after the training rows: the others are trained, and it is forecast by what they taught."""

import numpy as np
import pytest
import torch
from scipy.stats import t as student

from command import outcome
from multiway.errors import DataError, MultiwayWarning
from multiway.tasks import lifecycle
from multiway.tasks.forecasting.encode import prepare_panel
from multiway.tasks.forecasting.intervals import bands_of_errors, no_narrower
from multiway.tasks.forecasting.page import report
from multiway.tasks.forecasting.task import TASK
from report_pages import Page
from tasks.forecasting.panels import fitted, forecast, make_config, make_frame
from tolerances import ROUNDING32

MASK = {"missing": "mask"}
SAID = "series 1: no value in the training rows, so nothing is learnt there"
UNSCORED = "series 1: no test value to score, so 1 of 3 series is in no score."
BOTH = f"{SAID}|{UNSCORED}"


def grown(rows: int = 12):
    """Three series of 300 hours; the second has the last rows alone: by default a season, after which none is left."""
    frame = make_frame()
    frame.loc[: 299 - rows, "series 1"] = np.nan
    return frame


@pytest.fixture(scope="module")
def run():
    with pytest.warns(MultiwayWarning, match=BOTH):
        return fitted(grown(), read=MASK, answer="network")


def test_the_others_are_scored_and_it_is_not(run):
    errors = run.tables["errors"].groupby("variate")["mse"].mean()
    assert np.isfinite(errors[["series 0", "series 2"]]).all() and np.isnan(errors["series 1"])
    scaled = [row["value"] for row in run.scores if row["metric"] == "mse" and row["scale"] == "scaled"]
    assert np.isfinite(scaled).all() and run.facts["young"] == run.facts["unscored"] == ["series 1"]


def test_a_series_that_begins_before_the_test_rows_is_scored_on_them():
    frame = grown(80)  # of 300 rows, of which the last 60 are scored
    with pytest.warns(MultiwayWarning, match=SAID):
        run = fitted(frame, read=MASK, network=False, levels=())
    before = frame["series 1"][:240]
    assert run.state.scaler.mean[1] == pytest.approx(before.mean())
    assert ridge_error(run) == pytest.approx(expected_error(run, frame, 240), rel=1e-4)
    assert all(np.isfinite(row["value"]) for row in run.scores if row["metric"] in ("mse", "mase"))
    changed = frame.copy()
    changed.loc[240:, "series 1"] *= 5
    with pytest.warns(MultiwayWarning, match=SAID):
        other = fitted(changed, read=MASK, network=False, levels=())
    for name in ("mean", "std"):
        np.testing.assert_array_equal(getattr(other.state.scaler, name), getattr(run.state.scaler, name))
    assert torch.equal(other.model.candidates["ridge"].weight, run.model.candidates["ridge"].weight)


def ridge_error(run):
    """Of the second series on the test rows."""
    own = "split == 'test' and model == 'ridge' and variate == 'series 1'"
    return run.tables["errors"].query(own)["mse"].mean()


def expected_error(run, frame, since):
    """The same by hand: windows whose targets begin at a row or later, on the scale of the values before it.

    No value is below zero, and so no forecast is.
    """
    rows, weight = frame["series 1"].to_numpy(), run.model.refits["test"]["ridge"].weight
    mean, deviation = np.nanmean(rows[:since]), np.nanstd(rows[:since])
    scaled, zero = (rows - mean) / deviation, -mean / deviation
    missed = []
    for first in range(since, 297):
        past, future = scaled[first - 12 : first], scaled[first : first + 4]
        past = np.where(np.isnan(past), past[~np.isnan(past)][0], past)
        matrix = weight[min(1, len(weight) - 1)].double().numpy()
        missed.append((np.maximum(past[-1] + matrix @ (past - past[-1]), zero) - future) ** 2)
    return np.mean(missed)


@pytest.mark.parametrize(("rows", "since"), [(65, 247), (40, 272), (17, 295)])
def test_a_series_that_begins_in_or_shortly_before_the_test_rows_is_scored_after_a_season(rows, since):
    frame = grown(rows)
    with pytest.warns(MultiwayWarning, match=SAID):
        run = fitted(frame, read=MASK, network=False, levels=())
    assert ridge_error(run) == pytest.approx(expected_error(run, frame, since), rel=1e-4)
    assert run.facts["unscored"] == []
    counted = TASK.predict(run, run.prepared, "test").errors["ridge"].count
    assert counted[:, 1].tolist() == [297 - since] * 4 and counted[:, 0].tolist() == [57] * 4
    changed = frame.copy()
    changed.loc[since:, "series 1"] *= 5
    with pytest.warns(MultiwayWarning, match=SAID):
        other = fitted(changed, read=MASK, network=False, levels=())
    np.testing.assert_array_equal(other.state.scaler.mean, run.state.scaler.mean)
    np.testing.assert_array_equal(other.state.scaler.std, run.state.scaler.std)


def test_windows_before_it_is_scored_are_as_if_it_were_not_there():
    shown, hidden = (prepare_panel(make_config(read=MASK), grown(rows)).windows["test"] for rows in (40, 12))
    early = torch.arange(272 - 240)
    for (name, one), two in zip(shown.gather(early).items(), hidden.gather(early).values(), strict=True):
        assert torch.equal(one, two) or name in ("rows", "rows_observed"), name
    assert shown.gather(early + 1)["past_observed"][-1, :, 1].all()


def test_series_that_ended_or_began_too_late_are_named_with_the_scores(run):
    frame = grown()
    frame.loc[200:, "series 2"] = np.nan
    with pytest.warns(MultiwayWarning) as said:
        other = fitted(frame, read=MASK, network=False, levels=())
    assert other.facts["unscored"] == ["series 1", "series 2"]
    words = "series 1, series 2: no test value to score, so 2 of 3 series are in no score."
    assert words in TASK.cautions(other) and any(words in str(each.message) for each in said)
    assert UNSCORED in TASK.cautions(run)


def test_what_it_holds_reaches_no_window_and_no_weight(run):
    other = grown()
    other["series 1"] *= 1000
    with pytest.warns(MultiwayWarning, match=BOTH):
        changed = fitted(other, read=MASK, answer="network")
    for (name, one), (_, two) in zip(run.model.state_dict().items(), changed.model.state_dict().items(), strict=True):
        assert torch.equal(one, two), name
    assert changed.scores == run.scores
    np.testing.assert_array_equal(changed.state.scaler.mean[[0, 2]], run.state.scaler.mean[[0, 2]])


def test_its_scale_is_that_of_its_own_rows(run):
    values = grown()["series 1"].dropna()
    assert run.state.scaler.mean[1] == pytest.approx(values.mean())
    assert run.state.scaler.std[1] == pytest.approx(values.std(ddof=0))


def test_its_vector_is_the_mean_of_those_that_were_learnt(run):
    vectors = run.model.network.variates
    torch.testing.assert_close(vectors[1], vectors[[0, 2]].mean(0))


def test_own_matrices_leave_it_the_shared_one():
    frame, steps = make_frame(rows=900), np.arange(900)
    frame.loc[:860, "series 1"] = np.nan
    frame["series 0"] = (-1.0) ** steps + 0.1 * np.random.default_rng(0).standard_normal(900)
    frame["series 2"] = np.random.default_rng(1).standard_normal(900).cumsum()
    floor = prepare_panel(make_config(read=MASK), frame).ridge
    assert not floor.shared and float(floor.weight[1].abs().sum()) > 0.1


def test_its_forecast_has_bands_on_its_own_scale(run):
    table = forecast(run, grown()).query("unique_id == 'series 1'")
    values = grown()["series 1"].dropna()
    assert table["multiway"].between(values.min() - values.std(), values.max() + values.std()).all()
    width = table["multiway-hi-80"] - table["multiway-lo-80"]
    assert (width > 0).all() and (width < 8 * values.std()).all()


@pytest.mark.parametrize("rows", [2, 3, 10])
def test_its_bands_are_no_narrower_than_its_own_values_suggest(rows):
    frame = grown(rows)
    with pytest.warns(MultiwayWarning):
        run = fitted(frame, read=MASK, network=False)
    table = forecast(run, frame).query("unique_id == 'series 1'")
    values = frame["series 1"].dropna()
    spread = max(values.std(), values.diff().std(ddof=0))
    for level in (80, 95):
        least = 2 * student.ppf((1 + level / 100) / 2, rows - 1) * spread * np.sqrt(1 + 1 / rows)
        above = table[f"multiway-hi-{level}"] - table["multiway"]  # below, no forecast is negative
        assert (2 * above >= least * (1 - 1e-6)).all()


@pytest.mark.parametrize("values", [[25.0], [25.0, 25.0, 25.0]])
def test_one_that_never_changed_is_as_uncertain_as_others_in_proportion(values):
    frame = grown(len(values))
    frame.loc[300 - len(values) :, "series 1"] = values
    with pytest.warns(MultiwayWarning):
        run = fitted(frame, read=MASK, network=False)
    table = forecast(run, frame).query("unique_id == 'series 1'")
    train = frame[["series 0", "series 2"]][:180]
    part = np.median(train.std(ddof=0) / train.mean())
    least = student.ppf(0.9, 1) * 25 * part * np.sqrt(2) * np.sqrt(1.5)
    assert table["multiway"].tolist() == pytest.approx([25.0] * 4, rel=0.2)
    assert (table["multiway-hi-80"] - table["multiway"] >= least * (1 - 1e-6)).all()


def test_bands_of_a_few_values_grow_with_the_steps_as_those_of_others():
    errors = np.random.default_rng(0).standard_normal((4, 2, 200)).astype(np.float32).cumsum(0)
    errors[:, 1] = np.nan
    before = bands_of_errors(errors, (80.0,), 4)
    after = no_narrower(before, {1: np.array([0.0, 10.0, 20.0, 5.0])})
    own, old = after.offsets[-1, :, 1].numpy(), before.offsets[-1, :, 1].numpy()
    np.testing.assert_allclose(own / own[0], old / old[0], rtol=ROUNDING32)
    assert own[0] > 10 and torch.equal(after.offsets[:, :, 0], before.offsets[:, :, 0])
    assert torch.equal(no_narrower(before, {1: np.array([0.0, 1e-9])}).offsets, before.offsets)


def test_the_bands_of_the_others_are_as_they_were(run):
    validation = run.facts["intervals"]
    assert (validation["windows"], validation["by_student"]) == (27, [0.0, 0.0])


def test_a_training_value_makes_a_series_one_of_the_others():
    frame = grown()
    frame.loc[[100, 101], "series 1"] = [20.0, 30.0]
    prepared = prepare_panel(make_config(read=MASK), frame)
    assert prepared.young == () and prepared.scaler.mean[1] == 25.0


def test_a_series_without_any_value_is_refused():
    with pytest.raises(DataError, match=r"series 1 has no value at all\. Leave it out"):
        prepare_panel(make_config(read=MASK), grown(0))


def test_check_train_and_report_say_it(tmp_path):
    data = tmp_path / "shops.csv"
    grown().to_csv(data, index=False)
    code, out, _ = outcome("check", data, "--missing", "mask")
    assert code == 0 and f"warning: {SAID}" in out
    sizes = ["--horizon", 4, "--lookback", 12, "--set", "network=false", "--missing", "mask"]
    code, out, err = outcome("train", "forecast", "--data", data, *sizes, "--out", tmp_path / "run")
    assert code == 0 and f"multiway: warning: {SAID}" in err and f"multiway: warning: {UNSCORED}" in err
    with pytest.warns(MultiwayWarning, match=BOTH):
        page = Page(report([lifecycle.load(tmp_path / "run")]))
    assert SAID in page.text and UNSCORED in page.text


def test_an_audit_looks_at_the_others(tmp_path):
    data = tmp_path / "shops.csv"
    grown().to_csv(data, index=False)
    found = TASK.audit(make_config(data=str(data), read=MASK))
    assert not [finding for finding in found.findings if finding.severity == "error"]


def test_later_rows_of_it_are_scored_on_the_scale_that_is_known(run):
    later = make_frame(rows=60, seed=8)
    rows = TASK.score(run, TASK.predict(run, TASK.prepare(run.config, later, run.state), "test"), "test")
    errors = TASK.predict(run, TASK.prepare(run.config, later, run.state), "test").errors["multiway"]
    assert (errors.count > 0).all() and all(np.isfinite(row["value"]) for row in rows)


def test_a_panel_without_a_young_series_is_as_it_was():
    frame = make_frame()
    plain, masked = (prepare_panel(make_config(read=each), frame) for each in ({}, MASK))
    np.testing.assert_allclose(plain.scaler.mean, masked.scaler.mean, rtol=ROUNDING32)
    assert torch.equal(plain.ridge.weight, masked.ridge.weight)
