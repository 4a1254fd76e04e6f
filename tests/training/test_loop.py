"""What one training does: gradients, schedule, stopping, precision, bad numbers."""

import math
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch
from torch import nn

from multiway.errors import ConfigError, RunError
from multiway.training import LOSSES, RunFolder, TrainingConfig, learning_rate_at, train
from multiway.training.losses import by_answer, double_pinball
from tolerances import LONG32, ROUNDING32, SUMS32
from training.toy import Points, make_config, make_model, objective


def trained(**changes):
    model = make_model(dropout=0.0)
    masked = changes.pop("masked", False)
    history = train(model, objective, Points(203, masked), Points(61, masked), make_config(**changes))
    return model, history


@pytest.mark.parametrize("masked", [False, True])
def test_accumulated_batches_equal_one_large_batch(masked):
    settings = {"epochs": 1, "clip_norm": None, "masked": masked}
    large, _ = trained(batch_size=48, **settings)
    small, _ = trained(batch_size=16, accumulation=3, **settings)
    for left, right in zip(large.parameters(), small.parameters(), strict=True):
        torch.testing.assert_close(left, right, rtol=LONG32, atol=ROUNDING32)


def test_a_step_is_torchs_own():
    """One full batch against a loop written out by hand."""
    model, _ = trained(epochs=3, batch_size=203, schedule="constant", warmup_steps=0, clip_norm=None, optimizer="adam")
    by_hand, data = make_model(dropout=0.0), Points(203)
    optimizer = torch.optim.Adam(by_hand.parameters(), lr=0.01, weight_decay=0.01)
    best = (math.inf, None)
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.mse_loss(by_hand(data.x), data.y).backward()
        optimizer.step()
        with torch.no_grad():
            held_out = Points(61)
            loss = float(nn.functional.mse_loss(by_hand(held_out.x), held_out.y))
        if loss < best[0]:
            best = (loss, [parameter.detach().clone() for parameter in by_hand.parameters()])
    for left, right in zip(model.parameters(), best[1], strict=True):
        torch.testing.assert_close(left, right, rtol=LONG32, atol=ROUNDING32)


def test_every_sample_is_seen_once_per_epoch():
    seen = []

    class Watched(Points):
        def gather(self, index):
            seen.extend(index.tolist())
            return super().gather(index)

    train(make_model(), objective, Watched(53), Points(13), make_config(epochs=2, batch_size=8))
    assert sorted(seen[:53]) == sorted(seen[53:]) == list(range(53))
    assert seen[:53] != seen[53:]


def test_learning_rate_rises_and_falls():
    config = TrainingConfig(learning_rate=1.0, warmup_steps=4, schedule="cosine")
    rates = [learning_rate_at(step, 24, config) for step in range(24)]
    assert rates[:4] == [0.25, 0.5, 0.75, 1.0]
    assert rates[14] == pytest.approx(0.5)
    assert rates[4:] == sorted(rates[4:], reverse=True)
    flat = config.replace(schedule="constant", warmup_steps=0)
    assert {learning_rate_at(step, 24, flat) for step in range(24)} == {1.0}


def test_warm_up_leaves_short_trainings_time():
    config = TrainingConfig(learning_rate=1.0, warmup_steps=100, schedule="constant")
    assert [learning_rate_at(step, 6, config) for step in range(3)] == [0.5, 1.0, 1.0]


def test_learning_rate_falls_at_milestones():
    """MedMNIST's schedule: a tenth at half, a hundredth at three quarters."""
    config = TrainingConfig(learning_rate=1.0, warmup_steps=0, schedule="steps")
    assert [learning_rate_at(step, 8, config) for step in range(8)] == pytest.approx([1] * 4 + [0.1] * 2 + [0.01] * 2)
    halved = TrainingConfig.parse({"learning_rate": 1.0, "warmup_steps": 0, "schedule": "steps", "factor": 0.5})
    assert [learning_rate_at(step, 4, halved) for step in range(4)] == [1.0, 1.0, 0.5, 0.25]
    with pytest.raises(ConfigError, match="milestones are shares of all steps, between 0 and 1"):
        make_config(milestones=(50, 75))


def test_a_score_chooses_instead_of_the_loss():
    """It is highest at the second validation and, with less loss, at the fourth; at the third it is no number."""
    scores, seen, model = iter([0.1, 0.9, math.nan, 0.9, 0.8]), [], make_model(dropout=0.0)

    def score(validated):
        assert not validated.training
        seen.append([parameter.detach().clone() for parameter in validated.parameters()])
        return next(scores)

    history = train(
        model, objective, Points(203), Points(61), make_config(epochs=5, learning_rate=1e-5), validation_score=score
    )
    assert (history.best_epoch, history.best_score) == (4.0, 0.9)
    losses = [row["validation_loss"] for row in history.rows]
    assert history.best_loss == losses[3] < losses[1]
    assert losses[4] < losses[3]
    for left, right in zip(model.parameters(), seen[3], strict=True):
        assert torch.equal(left, right)


def test_the_kept_weights_are_their_average():
    """One full batch per step, so that the weights after each step can be seen; the average by hand."""
    trail, kept = [], make_model(dropout=0.0)
    trail.append([parameter.detach().clone() for parameter in kept.parameters()])
    usual = {"batch_size": 203, "schedule": "constant", "epochs": 3}
    for epochs in (1, 2, 3):
        model, _ = trained(**{**usual, "epochs": epochs})
        trail.append([parameter.detach().clone() for parameter in model.parameters()])
    train(kept, objective, Points(203), Points(61), make_config(average=0.2, **usual))
    average = trail[0]
    for step, weights in enumerate(trail[1:], start=1):
        share = min(0.2, (1 + step) / (10 + step))
        average = [share * old + (1 - share) * new for old, new in zip(average, weights, strict=True)]
    for left, right in zip(kept.parameters(), average, strict=True):
        torch.testing.assert_close(left, right, rtol=LONG32, atol=ROUNDING32)


@pytest.mark.parametrize("average", [None, 0.9])
def test_without_validation_the_weights_of_a_moment_of_the_schedule_are_left(average):
    """Those that a training of four epochs validates after its second, of fourteen steps each."""
    config, seen = make_config(average=average, batch_size=15), []

    def look(model):
        seen.append([parameter.detach().clone() for parameter in model.parameters()])
        return {}

    train(make_model(), objective, Points(203), Points(61), config, watch=look)
    model = make_model()
    history = train(model, objective, Points(203), None, config, epochs=2.0)
    assert (history.rows, history.steps, len(seen)) == ([], 28, 4)
    for left, right in zip(model.parameters(), seen[1], strict=True):
        assert torch.equal(left, right)


def test_a_model_leaves_the_training_in_its_own_precision():
    model, _ = trained(epochs=1, precision="bf16")
    fresh = make_model(dropout=0.0)
    fresh.load_state_dict(model.state_dict())
    x = Points(13).x
    assert torch.equal(model(x), fresh.eval()(x))


def test_open_epochs_make_five_hundred_steps():
    assert [TrainingConfig().epochs_of(32 * steps) for steps in (1, 29, 264, 9999)] == [20, 18, 2, 2]


def test_patience_stops_and_the_best_weights_stay():
    """Validation targets that training contradicts: the first epoch is best."""
    model, contrary = make_model(dropout=0.0), Points(61)
    contrary.y = -contrary.y
    history = train(model, objective, Points(203), contrary, make_config(epochs=9, patience=2))
    assert history.best_epoch == 1.0
    assert len(history.rows) == 3
    with torch.no_grad():
        loss, count = objective(model, {"x": contrary.x, "y": contrary.y})
    assert float(loss / count) == pytest.approx(history.best_loss, rel=SUMS32)


def test_the_last_weights_stay_where_they_are_to_be_kept():
    model, contrary = make_model(dropout=0.0), Points(61)
    contrary.y = -contrary.y
    history = train(model, objective, Points(203), contrary, make_config(epochs=5, patience=1, keep="last"))
    alone = make_model(dropout=0.0)
    train(alone, objective, Points(203), None, make_config(epochs=5))
    assert history.best_epoch == 5.0 and len(history.rows) == 5
    for left, right in zip(model.parameters(), alone.parameters(), strict=True):
        assert torch.equal(left, right)


def test_clipping_bounds_the_step():
    free, _ = trained(epochs=1, batch_size=203, clip_norm=None, optimizer="adam", weight_decay=0.0)
    held, _ = trained(epochs=1, batch_size=203, clip_norm=1e-9, optimizer="adam", weight_decay=0.0)
    start = list(make_model(dropout=0.0).parameters())
    moved = [
        max(float((a - b).abs().max().detach()) for a, b in zip(model.parameters(), start, strict=True))
        for model in (free, held)
    ]
    assert moved[1] < moved[0]


def test_bf16_is_close_to_float32():
    losses = [trained(precision=precision)[1].best_loss for precision in ("float32", "bf16")]
    assert losses[0] != losses[1]
    assert losses[1] == pytest.approx(losses[0], rel=0.1)


@pytest.mark.parametrize("place", ["x", "weight"])
def test_a_loss_that_is_not_finite_stops_at_once_and_names_the_tensor(place, tmp_path):
    data, model = Points(53), make_model(dropout=0.0)
    if place == "x":
        data.x[17] = math.nan
    else:
        model[3].weight.data[0, 0] = math.inf
    run = RunFolder.create(tmp_path / "run", {})
    words = "the batch's x" if place == "x" else r"the weight 3\.weight"
    with pytest.raises(RunError, match=rf"epoch 1, batch \d of 7 \(samples .*: first in {words}"):
        train(model, objective, data, Points(13), make_config(batch_size=8), run=run)


def test_losses_count_observed_cells_only():
    prediction, target = torch.tensor([1.0, 2.0, 9.0]), torch.tensor([0.0, 4.0, 0.0])
    observed = torch.tensor([True, True, False])
    expected = {"mse": 5.0, "mae": 3.0, "huber": 0.375 + 0.875}
    for name, value in expected.items():
        total, count = LOSSES[name](prediction, target, observed)
        assert (float(total), float(count)) == (value, 2.0)


def test_the_pinball_loss_is_twice_that_of_scikit_learn_over_observed_cells():
    metrics, generator = pytest.importorskip("sklearn.metrics"), torch.Generator().manual_seed(2)
    prediction, target = torch.randn(2, 6, 5, generator=generator, dtype=torch.float64)
    observed = torch.rand(6, 5, generator=generator) < 0.7
    for share in (0.1, 0.5, 0.8):
        total, count = double_pinball(prediction, target, observed, quantile=share)
        expected = metrics.mean_pinball_loss(target[observed], prediction[observed], alpha=share)
        assert float(total / count) == pytest.approx(2 * expected, rel=1e-12)
    whole, cells = double_pinball(prediction, target, quantile=0.5)
    assert (float(whole), float(cells)) == (pytest.approx(float((prediction - target).abs().sum())), 30)


def test_each_answer_has_its_own_loss_and_no_gradient_of_an_unseen_cell():
    generator = torch.Generator().manual_seed(2)
    answers = torch.randn(9, 2, generator=generator, dtype=torch.float64).requires_grad_()
    target = torch.randn(3, 2, generator=generator, dtype=torch.float64)
    observed = torch.rand(3, 2, generator=generator) < 0.6
    losses = [partial(double_pinball, quantile=0.1), LOSSES["mse"], partial(double_pinball, quantile=0.9)]
    total, count = by_answer(losses)(answers, target.repeat(3, 1), observed.repeat(3, 1))
    sums = [loss(answers[3 * place : 3 * place + 3], target, observed) for place, loss in enumerate(losses)]
    assert float(count) == 3 * int(observed.sum())
    torch.testing.assert_close(total, sum(each for each, _ in sums))
    (gradient,) = torch.autograd.grad(total, answers)
    signs = torch.tensor([1.8, -0.2], dtype=torch.float64)[(target > answers[:3]).long()]
    assert torch.allclose(gradient[:3], torch.where(observed, signs, 0))


def test_a_misspelt_loss_is_refused():
    with pytest.raises(ConfigError, match="loss: "):
        make_config(loss="mea")


@pytest.mark.slow
def test_two_processes_take_the_steps_of_one(tmp_path):
    """The same global batches over gloo: equal weights up to rounding, and only one process writes.

    That runs of two processes are those of one, `tasks/test_contract_processes.py` sees of every task; here they are
    started by `torchrun`. None ends with threads of gloo, which abort it where Python can't free what they hold.
    """
    program = f"""
import atexit, os, sys, torch
from pathlib import Path
names = lambda: [name.read_text() for name in Path("/proc/self/task").glob("*/comm")]
atexit.register(lambda: os._exit(any("gloo" in name for name in names())))  # what registers first comes last
sys.path[:0] = [{str(Path(__file__).parents[1])!r}, {str(Path(__file__).parents[2] / "src")!r}]
from training.toy import *
torch.set_num_threads(1)
model = make_model(dropout=0.0)
train(model, objective, Points(203, True), Points(61, True), make_config(epochs=2))
if os.environ.get("RANK", "0") == "0":
    torch.save({{k: v for k, v in model.state_dict().items()}}, sys.argv[1])
"""
    (tmp_path / "program.py").write_text(program)
    alone, together = tmp_path / "alone.pt", tmp_path / "together.pt"
    launch = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
    for start, out in (([sys.executable], alone), (launch, together)):
        done = subprocess.run([*start, str(tmp_path / "program.py"), str(out)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    left, right = (torch.load(path, weights_only=True) for path in (alone, together))
    for name in left:
        torch.testing.assert_close(left[name], right[name], rtol=LONG32, atol=ROUNDING32)
