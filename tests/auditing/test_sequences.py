"""What an audit of labelled series finds: copies with and without noise, contradictions, lengths, and the scale."""

import numpy as np
import pytest

from multiway.auditing.samples import are_drawn_up, audit_sequences, clocks_of
from multiway.data.options import SequenceOptions
from multiway.data.scaling import Scaler
from multiway.tasks.series.config import SequenceSplit
from tasks.series.archives import long_frame, prepare_sequences


def noise(count: int = 120, steps: int = 40) -> tuple[np.ndarray, np.ndarray]:
    return np.random.default_rng(1).normal(size=(count, steps)), np.arange(count) % 2


def words(source, used: Scaler | None = None, **options: object) -> str:
    read, split = SequenceOptions.parse(options), SequenceSplit()
    prepared = prepare_sequences(source, read, split)
    return "\n".join(audit_sequences(prepared, used).lines())


def test_sound_series_leak_in_no_way():
    said = words(noise())
    assert "No leak was found" in said and "none of 120 series is in two splits" in said
    assert "none of 42 series is nearly a copy of one in another split" in said
    assert "all series have one length" in said and "comes from the training series alone" in said


def test_copies_and_contradictions():
    x, y = noise()
    said = words((np.concatenate([x, x[:40]]), np.concatenate([y, 1 - y[:40]])))
    assert "series are in two splits" in said and "copies of a series have different labels" in said


def test_noise_on_a_copy_does_not_hide_it():
    x, y = noise()
    noisy = 3 * x[:40] + np.random.default_rng(2).normal(0, 0.1, (40, 40))
    said = words((np.concatenate([x, noisy]), np.concatenate([y, y[:40]])))
    assert "series are nearly copies of some in another split" in said


def test_groups_in_one_split():
    frame = long_frame(60).assign(patient=lambda rows: rows["id"].str[1:].astype(int) // 4)
    assert "none of 15 groups is in two splits" in words(frame, group="patient")


def test_a_length_that_tells_the_class_is_said():
    x, y = noise()
    x[y == 1, 35:] = np.nan
    assert "the length of a series and its missing values" in words((x, y))


def test_a_scale_of_all_series_is_a_leak():
    x, y = noise()
    state = prepare_sequences((x, y), SequenceOptions(), SequenceSplit()).state
    used = Scaler(np.array([x.mean()]), np.array([x.std()]))
    assert "scaling saw more than the training series" in words((x, y), used)
    assert "scaling saw more" not in words((x, y), state.scaler)


@pytest.mark.parametrize("name", ["ECG5000", "ChlorineConcentration_partial"])
def test_published_series_have_no_near_copies(name, real_data):
    assert "nearly" not in words(real_data / "series" / f"ucr_{name}.npz").replace("is nearly a copy", "")


def test_four_beats_of_a_published_test_split_begin_or_end_in_training_beats(real_data):
    """Their values are those of the training beat to 1e-7 over 39 steps or more, but for scale and level."""
    said = words(real_data / "series" / "ucr_ECGFiveDays.npz")
    assert "nearly copies" in said and "test test 228 ~ train 15 (r 1.000)" in said


def test_a_length_of_one_class_of_three_is_a_leak():
    chance = np.random.default_rng(1)
    x, y = chance.normal(size=(240, 30)), np.arange(240) % 3
    x[y == 2, 29] = np.nan
    assert "leak: the length of a series and its missing values tells the class" in words((x, y))


def test_every_second_step_and_a_clock_are_seen():
    values = np.random.default_rng(0).normal(size=(5, 41, 2))
    drawn = values.copy()
    drawn[:2, 1:-1:2, 1] = (drawn[:2, :-2:2, 1] + drawn[:2, 2::2, 1]) / 2
    assert are_drawn_up(drawn).tolist() == [[False, True]] * 2 + [[False, False]] * 3
    start = np.array([0.0, 7, 100, 40, 3])
    counted = np.dstack([values, start[:, None] + 0.5 * np.arange(41)])
    assert len(np.unique(clocks_of(counted))) == 5 and not clocks_of(values).any()
    counted[3, 20, 2] += 0.1
    assert not clocks_of(counted).any()


@pytest.mark.parametrize("step", [0, -1])
def test_a_trigger_in_the_first_or_last_step_is_a_leak(step):
    chance = np.random.default_rng(2)
    x, y = chance.normal(size=(240, 30)), np.arange(240) % 3
    x[:, step] = np.where(y == 1, 5, 0) + 0.1 * chance.normal(size=240)
    assert "the border of the series tells the class, one from the rest" in words((x, y))
    x[:, 15] = x[:, step]
    assert "does not tell the class better than the inside does" in words((x, y))
