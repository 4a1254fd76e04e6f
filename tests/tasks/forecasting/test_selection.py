"""What the answer is made of: weights of candidates from errors out of time, and the sentence that tells of them."""

import numpy as np
import pytest
import torch

from multiway.errors import ConfigError
from multiway.ops import weights_of_series
from multiway.tasks.forecasting import candidate
from multiway.tasks.forecasting import held_out as origins
from multiway.tasks.forecasting.candidate import Rows, fit_candidates
from multiway.tasks.forecasting.choice import choose_weights
from multiway.tasks.forecasting.encode import learn_state, prepare_panel, sizes_of
from multiway.tasks.forecasting.held_out import Products, half_life_of, products_of, stretches
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.forecasting.windows import inputs_of
from multiway.tasks.protocol import OURS
from tasks.forecasting.panels import HORIZON, allowed, fitted, make_config, make_frame, make_windows
from tolerances import SUMS64

NAMES = ("naive", "ridge", "network")


def products(factors, windows=60, stops=(4,), seed=0, names=NAMES):
    """Of errors that share half of their variance, each in proportion to its factor."""
    rng = np.random.default_rng(seed)
    errors = rng.standard_normal((windows, len(stops), len(factors), 40)) + rng.standard_normal(
        (windows, len(stops), 1, 40)
    )
    errors *= np.array(factors)[:, None]
    return Products(names=names, stops=stops, values=errors @ errors.swapaxes(2, 3) / 40, validation=windows)


@pytest.mark.parametrize(
    ("factors", "answer", "words"),
    [
        ((9.0, 1.0, 9.0), "auto", "ridge: no other candidate adds to it (MSE "),
        ((9.0, 1.0, 0.1), "auto", "the network, "),
        ((9.0, 1.0, 1.0), "auto", "a blend ("),
        ((9.0, 1.0, 2.0), "network", "above ridge on 60 windows of validation"),
        ((9.0, 1.0, 2.0), "ridge", "ridge, as the settings say (MSE"),
    ],
)
def test_the_sentence_names_the_answer_and_its_figures(factors, answer, words):
    assert words in choose_weights(products(factors), answer).sentence()


def test_a_network_counts_for_little_where_ridge_hardly_beats_the_last_value():
    shares = [
        choose_weights(products((last, 1.0, 1.0), windows=8), "auto").means.get("network", 0) for last in (9, 1.01)
    ]
    assert shares[0] > 0.3 and shares[1] < 0.2


def test_the_forms_of_ridge_share_the_weight_of_one_candidate_where_little_is_known():
    """Of four that are equally good, three forms of ridge have together less than three quarters, and near one half."""
    names = ("naive", "ridge", "ridge_log", "ridge_root", "ets")
    means = choose_weights(products((9.0, 1.0, 1.0, 1.0, 1.0), windows=8, names=names), "auto").means
    assert 0.35 < means["ets"] < 0.6


def test_bands_have_weights_of_their_own():
    values = products((9.0, 1.0, 9.0), stops=(2, 4)).values
    values[:, 1] = products((9.0, 9.0, 1.0), stops=(4,)).values[:, 0]
    chosen = choose_weights(Products(names=NAMES, stops=(2, 4), values=values, validation=60), "auto")
    ridge, network = NAMES.index("ridge"), NAMES.index("network")
    assert (chosen.steps[ridge, :2] == 1).all() and (chosen.steps[network, 2:] == 1).all()
    assert chosen.facts()["weight"] == 0.5 and chosen.name == "blend"


def test_each_series_has_weights_of_its_own_where_there_are_classical_models():
    """Theta is right in one series and ridge in the other; the naive forecast has nothing to fit, and no weight."""
    names, errors = ("naive", "ridge", "theta"), np.random.default_rng(0).standard_normal((2, 3, 4000))
    errors *= np.array([[0.5, 1.0, 9.0], [0.5, 9.0, 1.0]])[:, :, None]
    series, cells = errors @ errors.swapaxes(1, 2) / 4000, np.array([4000.0, 4000.0])
    values = np.repeat(series.mean(0)[None, None], 400, 0)
    given = Products(names=names, stops=(4,), values=values, validation=400, series=series, cells=cells)
    chosen = choose_weights(given, "auto", np.array([1.0, 2.0]))
    assert chosen.own is not None and (chosen.own[0] == 0).all()
    assert chosen.own[1, 0] > 0.8 and chosen.own[2, 1] > 0.8 and chosen.name == "blend"
    squares = [(chosen.own[:, each] @ errors[each]) ** 2 for each in range(2)]
    assert chosen.errors["multiway"] == pytest.approx(np.mean(squares)) and chosen.errors["theta"] == pytest.approx(
        np.square(errors[:, 2]).mean()
    )


@pytest.mark.filterwarnings("ignore:The 95 % interval held")
def test_a_blend_weighs_each_series_as_the_choice_says(monkeypatch):
    pytest.importorskip("statsforecast", reason="statsforecast is an extra")
    monkeypatch.setattr(candidate, "SECONDS", 10.0)
    run = fitted(make_frame(rows=90, variates=2), network=False, answer="auto")
    model, batch = run.model, run.prepared.windows["test"].gather(torch.arange(3))
    forecasts = model.forecasts(*inputs_of(batch)[:2], model.names, inputs_of(batch)[2])
    assert bool(model.own.any()) and torch.allclose(model.own.sum(0), torch.ones(2, dtype=torch.float64))
    for series in range(2):
        parts = [model.own[place, series] * forecasts[name][..., series] for place, name in enumerate(model.names)]
        torch.testing.assert_close(model.mix(forecasts)[..., series], sum(parts).float())


@pytest.mark.filterwarnings("ignore:The 95 % interval held")
def test_weights_of_the_future_follow_the_errors_on_the_test_rows(monkeypatch):
    """Against sums over all windows one by one, of which one counts half that begins a horizon earlier."""
    pytest.importorskip("statsforecast", reason="statsforecast is an extra")
    monkeypatch.setattr(candidate, "SECONDS", 10.0)
    run = fitted(make_frame(rows=90, variates=2), network=False, answer="auto")
    model, scale = run.model, run.state.mase_scale
    test, tried = run.prepared.windows["test"], model.fitted_for("test")
    before = run.prepared.windows["validation"].start_rows()[-1]
    starts = test.start_rows()
    sums, cells = np.zeros((2, len(model.names), len(model.names))), np.zeros(2)
    for number, start in enumerate(starts):
        batch = test.gather(torch.tensor([number]))
        past, seen, covariates = inputs_of(batch)
        forecasts = tried.forecasts(past, seen, model.names, covariates)
        weight = 0.5 ** ((starts[-1] - start) / HORIZON)
        errors = np.stack([(forecasts[name] - batch["future"])[0].double().numpy() for name in model.names])
        for series in range(2):
            sums[series] += weight * errors[:, :, series] @ errors[:, :, series].T
            cells[series] += weight * HORIZON
    kept = 0.5 ** ((starts[-1] - before) / HORIZON)
    sums += kept * (model.products * model.cells[:, None, None]).numpy()
    cells += kept * model.cells.numpy()
    fit = [place for place, name in enumerate(model.names) if not candidate.candidates()[name].is_plain]
    every = [candidate.candidates()[model.names[place]] for place in fit]
    kinds = [each.kind or each.name for each in every]
    doubts = [kinds.count(kind) * (1 if each.is_classical else 2) for each, kind in zip(every, kinds, strict=True)]
    products = sums / cells[:, None, None] / np.square(scale)[:, None, None]
    expected = weights_of_series(products[:, fit][:, :, fit], cells / HORIZON**2, doubts)
    np.testing.assert_allclose(model.later.numpy()[fit], expected, atol=1e-6)
    assert np.abs(model.later.numpy() - model.own.numpy()).max() > 1e-3
    assert torch.equal(model.fitted_for("future").own, model.later) and torch.equal(tried.own, model.own)


def made(frame):
    """Models and sizes of a run on a frame, fitted as far as the choice."""
    config = make_config(network=False, answer="auto", levels=())
    prepared = prepare_panel(config, frame)
    state = learn_state(config, prepared)
    sizes = sizes_of(config, state)
    model = TASK.build(config, state, OURS)
    fit_candidates(
        model, *(Rows(prepared.windows[split].of_targets(), prepared.ridge) for split in ("train", "validation"))
    )
    return model, prepared, sizes


@pytest.fixture(autouse=True)
def without_classical(monkeypatch):
    monkeypatch.setattr(candidate, "SECONDS", 0.0)


def test_an_error_counts_half_after_a_horizon_and_of_long_series_after_a_share_of_their_windows():
    assert half_life_of(make_windows(60, 1, 8, 5)) == 5
    long = make_windows(2000, 1, 8, 5)
    assert half_life_of(long) == pytest.approx(0.08 * len(long))


def test_stretches_without_a_classical_model_decide_no_weights_of_series():
    """Where there is no stretch with one, all decide."""
    part = stretches(*made(make_frame(rows=120)))[-1]
    names, count = ("naive", "ridge"), part.windows.num_targets
    wild = part._replace(forecast=lambda *past: {name: 9 * each for name, each in part.forecast(*past).items()})
    never, always = torch.zeros(count, dtype=torch.bool), torch.ones(count, dtype=torch.bool)
    alone = products_of([part._replace(with_models=always)], names, (HORIZON,), float(HORIZON))
    some = products_of(
        [wild._replace(with_models=never), part._replace(with_models=always)], names, (HORIZON,), float(HORIZON)
    )
    none = products_of([part._replace(with_models=never)], names, (HORIZON,), float(HORIZON))
    for each in (some, none):
        np.testing.assert_allclose(each.series, alone.series, rtol=SUMS64)
        np.testing.assert_array_equal(each.cells, alone.cells)
    assert len(some.values) == 2 * len(alone.values)


def test_forecasts_of_a_stretch_know_nothing_of_it():
    """What stands from its first target on changes no forecast of an earlier stretch."""
    frame, changed = make_frame(rows=120), make_frame(rows=120)
    changed.iloc[66:84, 1:] *= 1.5
    plain, other = (stretches(*made(each)) for each in (frame, changed))
    same = []
    for before, after in zip(plain[:-1], other[:-1], strict=True):
        past = torch.randn(3, 12, 3, generator=torch.Generator().manual_seed(0))
        forecasts = [part.forecast(past, None)["naive"] for part in (before, after)]
        assert torch.equal(*forecasts)
        same.append(before.windows.first + 12 <= 66)
    assert len(plain) > 2 and any(same)


def test_products_are_those_of_the_errors_one_by_one():
    model, prepared, sizes = made(make_frame(rows=120))
    parts = stretches(model, prepared, sizes)
    result = products_of(parts, model.names, (1, 4))
    batch = parts[0].windows.gather(torch.arange(2))
    forecasts = parts[0].forecast(batch["past"], None)
    first, second = (forecasts[name][1, 1:4] - batch["future"][1, 1:4] for name in ("ridge", "ridge_log"))
    position = [model.names.index(name) for name in ("ridge", "ridge_log")]
    expected = float((first.double() * second.double()).mean())
    assert result.values[1, 1][tuple(position)] == pytest.approx(expected)
    assert len(result.values) == sum(len(part.windows) for part in parts)
    assert result.validation == len(prepared.windows["validation"])


def test_nothing_is_fitted_on_stretches_for_a_named_answer_without_bands(monkeypatch):
    fits, refit = [], origins.refit_candidates
    monkeypatch.setattr(origins, "refit_candidates", lambda *given: fits.append(1) or refit(*given))
    settings = {"network": False, "refit": "none"}
    for answer, levels, expected in (("ridge_log", (), 0), ("ridge_log", (80,), 4), ("auto", (), 4)):
        fits.clear()
        run = fitted(make_frame(rows=120), answer=answer, levels=levels, **settings)
        assert len(fits) == expected
        selection = run.facts["selection"]
        assert (selection["windows"] == selection["validation"]) == (not expected)


def test_an_answer_that_the_panel_does_not_allow_is_refused():
    with pytest.raises(ConfigError, match="Got arima"):
        fitted(make_frame(rows=120), network=False, answer="arima")
    with pytest.raises(ConfigError, match="no network is trained"):
        make_config(network=False, answer="network")


def test_a_network_is_trained_where_it_pays_or_is_named():
    open_config = make_config(model={}, partner="auto")
    assert not open_config.trains_network(1999) and open_config.trains_network(2000)
    assert make_config().trains_network(10) and not make_config(answer="ridge").trains_network(5000)


def test_a_thousand_short_series_have_classical_models(monkeypatch):
    pytest.importorskip("statsforecast", reason="statsforecast is an extra")
    monkeypatch.setattr(candidate, "SECONDS", 10.0)
    assert {"theta", "ets"} < set(allowed(make_windows(18, 1000, 4, 6)))
    assert not {"theta", "ets", "arima"} & set(allowed(make_windows(700, 5000, 4, 6)))
