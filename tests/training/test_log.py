"""The lines of a training in progress: shown where they are asked for, with the score where there is one."""

import pytest

from multiway.training.log import TrainingProgress

ROW = {"epoch": 1.5, "train_loss": 0.25, "validation_loss": 0.125, "seconds": 7.4, "step": 30}
SCORES = {"validation_score": 0.5, "best_score": 0.75}
PLAIN = "epoch 1.5  train 0.2500  validation 0.1250"


@pytest.mark.parametrize(("more", "text"), [({}, PLAIN), (SCORES, f"{PLAIN}  score 0.5000 (best 0.7500)")])
def test_a_validation_is_a_line_where_there_is_no_terminal(more, text, capsys):
    progress = TrainingProgress(40, show=True)
    with progress.shown():
        progress.show(30, None)
        progress.show(30, {**ROW, **more})
        progress.say(["a note", "another"])
    assert not progress.is_shown
    assert capsys.readouterr() == ("", f"{text}  (7 s, step 30 of 40)\na note\nanother\n")


def test_a_quiet_training_says_nothing(capsys):
    progress = TrainingProgress(40, show=False)
    with progress.shown():
        progress.show(30, None)
        progress.show(30, ROW)
        progress.say(["a note"])
    assert capsys.readouterr() == ("", "")
