"""A network that is far behind another candidate stops early: the rule, what is measured, and what says so."""

import numpy as np
import pandas as pd
import pytest
import torch

from command import outcome, printed
from interruption import Killed, kill_at
from multiway.tasks import fitting, lifecycle
from multiway.tasks.fitting import Rival
from multiway.tasks.lifecycle import load
from multiway.tasks.protocol import NETWORK
from multiway.tasks.registry import task_of
from tasks.forecasting.panels import HORIZON, make_config, make_frame
from tasks.tiny import TINY
from tolerances import LONG32


def rows(*losses, **more):
    return [{"epoch": place + 1.0, "validation_loss": loss, **more} for place, loss in enumerate(losses)]


TREES = Rival(name="trees", loss=0.4)


@pytest.mark.parametrize(
    ("losses", "left", "stops"),
    [
        ((1.0, 0.95, 0.92, 0.91), 4, True),
        ((1.0, 0.95, 0.92, 0.91), 16, True),
        ((1.0, 0.95, 0.92, 0.91), 17, False),  # a fifth of the training comes first
        ((1.0, 0.95, 0.92), 1, False),  # too few validations
        ((1.3, 1.1, 0.95, 0.84), 4, True),  # the last doubling gained 0.26, and one is left
        ((1.3, 1.1, 0.95, 0.84), 12, False),  # two are left
        ((1.3, 1.3, 0.95, 0.84), 4, False),  # it gained 0.46
        ((1.3, 1.1, 1.0, 0.95, 0.84), 18, True),  # of five validations the first two are less than half
        ((1.3, 1.1, 1.0, 0.95, 0.84), 19, False),
        ((0.81, 0.81, 0.81, 0.81), 4, True),
        ((0.79, 0.79, 0.79, 0.79), 4, False),  # less than twice the other's
        ((0.3, 0.9, 0.9, 0.9), 4, False),  # the best counts
        ((0.9, 0.3, 0.2, 0.1), 1, False),
    ],
)
def test_the_rule(losses, left, stops):
    said = TREES.stops(rows(*losses), left)
    assert (said is not None) == stops
    if stops:
        assert (
            said.startswith(f"The network stopped after {len(losses)} epochs, far behind trees: ")
            and "0.4 on validation" in said
        )


def test_scores_count_as_errors_and_small_gaps_as_none():
    near = Rival(name="logistic", loss=0.01)
    assert near.stops(rows(9.0, 9.0, 9.0, 9.0, validation_score=0.92), 2) is None
    assert near.stops(rows(0.0, 0.0, 0.0, 0.0, validation_score=0.85), 2) is not None


def test_the_rival_is_the_best_whose_loss_is_known_and_none_for_a_named_answer():
    losses = {"majority": 0.7, "trees": 0.4, "other": None, "broken": float("nan")}
    assert Rival.among(losses, "auto") == TREES
    assert Rival.among(losses, "network") is None and Rival.among(losses, "trees") is None
    assert Rival.among({"other": None}, "auto") is None and Rival.among({}, "auto") is None


def test_candidates_of_a_forecast_are_measured_as_the_network_is():
    config = make_config(answer="auto", horizons=(1, HORIZON), levels=())
    seen = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rival, "among", lambda losses, answer: seen.update(losses, answer=answer))
        run = lifecycle.fit_in_memory(task_of("forecast"), config, make_frame())
    windows = run.prepared.windows["validation"]
    batch = windows.gather(torch.arange(len(windows)))
    off = (run.model.ridge(batch["past"]) - batch["future"]).abs()
    assert seen["answer"] == "auto" and {"naive", "ridge"} <= set(seen) and "network" not in seen
    assert seen["ridge"] == pytest.approx(float((off[:, :1].mean() + off.mean()) / 2), rel=LONG32)


HOPELESS = Rival(name="trees", loss=-100.0)


def always(patch):
    """Every network is far behind after two validations."""
    patch.setattr(fitting, "FIRST", 2)
    patch.setattr(fitting, "SHARE", 0.0)
    patch.setattr(Rival, "among", lambda losses, answer: HOPELESS if losses and answer == "auto" else None)


def test_a_killed_run_that_stopped_early_goes_on_to_the_same_bits(tmp_path, monkeypatch):
    always(monkeypatch)
    (tmp_path / "data").mkdir()
    tiny = TINY["tabular"](tmp_path / "data")
    changes = {"training__epochs": 6, "training__checkpoint_seconds": 0, "training__patience": 0}
    said = printed(*tiny.train(tmp_path / "whole", **changes))
    whole = load(tmp_path / "whole")
    stopped = whole.facts["best"][NETWORK]["stopped"]
    assert stopped in said.splitlines() and stopped in whole.facts["notes"]
    assert "far behind trees" in stopped and "after 2 epochs" in stopped
    run = tmp_path / "run"
    for words in (tiny.train(run, **changes), ["train", "--resume", run]):
        with monkeypatch.context() as patch, pytest.raises(Killed):
            kill_at(patch, 2)
            outcome(*words)
    assert printed("train", "--resume", tmp_path / "run").replace(str(run), str(tmp_path / "whole")) == said
    ours, theirs = load(tmp_path / "run").model.state_dict(), whole.model.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_a_network_that_stopped_early_is_fitted_on_no_fold(monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 3))
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=np.where(x[:, 0] > 0, "yes", "no"))
    settings = {"read": {"target": "y"}, "training": {"epochs": 4}, "draws": 0}
    tabular = task_of("tabular")
    always(monkeypatch)
    run = lifecycle.fit_in_memory(tabular, tabular.config.parse(settings), frame)
    cases = {row.name: row.cases for row in run.answer.candidates}
    assert run.facts["best"][NETWORK]["stopped"] and cases[NETWORK] < cases["logistic"]
    kept = lifecycle.fit_in_memory(tabular, tabular.config.parse(settings | {"answer": NETWORK}), frame)
    assert kept.facts["best"][NETWORK]["steps"] > run.facts["best"][NETWORK]["steps"]
