"""The lines of a training in progress: shown where they are requested, with the score where there is one."""

import contextlib
import sys
from types import SimpleNamespace

import pytest
from accelerate import tracking
from accelerate.tracking import GeneralTracker

from command import assert_refused
from multiway.training import RunFolder, train
from multiway.training.loop import TrainingProgress
from training.toy import Points, make_config, make_model, objective

ROW = {"epoch": 1.5, "train_loss": 0.25, "validation_loss": 0.125, "seconds": 7.4, "step": 30}
SCORES = {"validation_score": 0.5, "best_score": 0.75}
PLAIN = "epoch 1.5  train 0.2500  validation 0.1250"


@pytest.mark.parametrize(("more", "text"), [({}, PLAIN), (SCORES, f"{PLAIN}  score 0.5000 (best 0.7500)")])
def test_a_validation_is_a_line_where_there_is_no_terminal(more, text, capsys):
    progress = TrainingProgress(40, show=True)
    with contextlib.closing(progress):
        progress.show(30, None)
        progress.show(30, {**ROW, **more})
        progress.say(["a note", "another"])
    assert not progress.is_shown
    assert capsys.readouterr() == ("", f"{text}  (7 s, step 30 of 40)\na note\nanother\n")


def test_a_quiet_training_says_nothing(capsys):
    progress = TrainingProgress(40, show=False)
    with contextlib.closing(progress):
        progress.show(30, None)
        progress.show(30, ROW)
        progress.say(["a note"])
    assert capsys.readouterr() == ("", "")


class Kept(GeneralTracker):
    """A tracker of Accelerate that keeps what it is told."""

    name, requires_logging_directory, tracker = "kept", False, None

    def __init__(self, *where, **options):
        super().__init__()
        self.where, self.options, self.seen = where, options, []
        self.made.append(self)

    def start(self):
        print("a banner")

    def log(self, values, step, **options):
        self.seen.append((step, values))

    def finish(self):
        self.seen.append("finished")


def train_toy(folder, track, **options):
    run = RunFolder.create(folder, {"task": "toy"})
    train(make_model(), objective, Points(61), Points(31), make_config(epochs=2, track=track), run=run, **options)
    return run


@pytest.mark.parametrize("name", ["tensorboard", "trackio"])
def test_a_tracker_of_accelerate_is_shown_the_log_and_prints_nothing(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Kept, "made", [], raising=False)
    monkeypatch.setattr(tracking, {"tensorboard": "TensorBoardTracker", "trackio": "TrackioTracker"}[name], Kept)
    watched = {"accuracy": [0.5], "spread": [0.1, 0.9]}
    library = SimpleNamespace(__name__=name, finish=lambda: print("another banner"))
    monkeypatch.setitem(sys.modules, name, library)
    run = train_toy(tmp_path / "run", name, watch=lambda model: watched)
    (shown,) = Kept.made
    *rows, end = shown.seen
    numbers = [{**row, "watched.accuracy": 0.5} for row in run.read_log()]
    assert rows == [(row["step"], {key: row[key] for key in row if key != "watched"}) for row in numbers]
    assert len(rows) == 2 and end == "finished"
    where = {"tensorboard": (("run", tmp_path / "run" / "tensorboard"), {}),
             "trackio": (("multiway",), {"name": "run", "embed": False, "resume": "allow"})}  # fmt: skip
    assert (shown.where, shown.options) == where[name]
    assert capsys.readouterr() == ("", "")


def test_tensorboard_reads_what_was_logged(tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = train_toy(tmp_path / "run", "tensorboard")
    (folder,) = (run.path / "tensorboard").iterdir()
    events = EventAccumulator(str(folder)).Reload().Scalars("validation_loss")
    logged = {row["step"]: row["validation_loss"] for row in run.read_log()}
    assert {event.step: event.value for event in events} == pytest.approx(logged)


def test_every_callback_hears_of_the_end_of_a_training_that_one_ends(tmp_path):
    class Ends:
        seen = ()

        def log(self, values, step=None):
            self.seen += (step,)
            raise ValueError("enough")

        def finish(self):
            self.seen += ("finished",)

    ends = Ends()
    with pytest.raises(ValueError, match="enough"):
        train_toy(tmp_path / "run", None, callbacks=[ends])
    assert ends.seen == (4, "finished")


def test_a_tracker_that_is_absent_is_named_before_anything_is_read(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "trackio", None)
    words = ["train", "forecast", "--data", str(tmp_path / "none.csv"), "--track", "trackio", "--out", str(tmp_path)]
    assert_refused(words, "Run `pip install 'multiway[trackio]'`.", tmp_path, monkeypatch, capsys)
