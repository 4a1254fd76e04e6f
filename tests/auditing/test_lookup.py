"""Look-ups of what says nothing: planted leaks are found, chance is not."""

import numpy as np
import pytest
from sklearn.metrics import matthews_corrcoef

from multiway.auditing import check_lookup
from multiway.auditing.lookup import half_of, lookup_mcc
from tolerances import ROUNDING64

TRAIN, TEST = 600, 300


def make(leak, seed=0, classes=2):
    """Facts and labels; with the chance `leak` a label is the parity of two facts, else it is random."""
    chance = np.random.default_rng(seed)
    facts = {"weekday": chance.integers(0, 5, TRAIN + TEST), "traded": chance.integers(0, 2, TRAIN + TEST),
             "open": chance.integers(0, 2, TRAIN + TEST), "same": np.zeros(TRAIN + TEST, int)}  # fmt: skip
    told = (facts["traded"] + facts["open"]) % 2
    labels = np.where(chance.random(TRAIN + TEST) < leak, told, chance.integers(0, classes, TRAIN + TEST))
    return facts, labels


def verdict(facts, labels, **options):
    train, test = slice(0, TRAIN), slice(TRAIN, None)
    return check_lookup(
        {name: codes[train] for name, codes in facts.items()}, labels[train],
        {name: codes[test] for name, codes in facts.items()}, labels[test], what="the calendar", **options,
    )  # fmt: skip


def test_a_pair_that_tells_the_label_is_a_leak_and_is_named():
    facts, labels = make(0.98)
    finding = verdict(facts, labels)
    told = (facts["traded"] + facts["open"])[TRAIN:] % 2
    accuracy = (told == labels[TRAIN:]).mean()
    assert finding.severity == "error"
    assert "a look-up of traded and open alone, learnt on train, gives" in finding.line()
    assert f"ACC {accuracy:.4f}, MCC {matthews_corrcoef(labels[TRAIN:], told):.4f} on 300 test labels" in finding.line()


def test_a_weak_signal_is_a_warning():
    assert verdict(*make(0.35)).severity == "warning"


@pytest.mark.parametrize("classes", [2, 3])
def test_chance_is_seldom_called_a_signal_and_never_a_leak(classes):
    verdicts = [verdict(*make(0.0, seed, classes), draws=200) for seed in range(40)]
    assert sum(not isinstance(each, str) for each in verdicts) <= 4
    assert all(isinstance(each, str) or each.severity == "warning" for each in verdicts)


def test_days_that_move_together_widen_the_interval():
    """All stocks of a day share its label: one lucky day is one observation and not fifty."""
    chance = np.random.default_rng(2)
    days = np.arange(TRAIN + TEST) // 50
    labels = chance.integers(0, 2, days.max() + 1)[days]
    facts = {"weekday": chance.integers(0, 5, days.max() + 1)[days]}
    together = verdict(facts, labels, groups=(days[:TRAIN], days[TRAIN:]), block=2)
    assert isinstance(together, str) and together.startswith("the calendar does not tell the label")


def test_a_cell_that_training_never_saw_gets_the_commonest_class():
    labels = np.array([1] * 20 + [0] * 10)
    train = {"month": np.arange(30) % 2}
    found = check_lookup(train, labels, {"month": np.full(8, 9)}, np.ones(8, int), what="the calendar")
    assert "gives ACC 1.0000, MCC 0.0000 on 8 test labels, the commonest class gives ACC 1.0000" in found


def test_what_never_varies_cannot_tell():
    facts, labels = make(0.0)
    assert verdict({"same": facts["same"]}, labels) == "the calendar cannot tell the label: same never varies"
    empty = np.empty(0, int)
    assert check_lookup({"a": empty}, empty, {"a": empty}, empty, what="the calendar") is None


def test_mcc_is_that_of_sklearn():
    chance = np.random.default_rng(1)
    for classes in (2, 3, 5):
        labels, said = chance.integers(0, classes, (2, 97))
        assert lookup_mcc(said, labels) == pytest.approx(matthews_corrcoef(labels, said), rel=ROUNDING64)
    assert lookup_mcc(np.zeros(5, int), np.array([0, 1, 0, 1, 1])) == 0


def test_both_halves_of_the_training_hold_every_class_where_labels_take_turns():
    """Every second row is of one class: the look-up must still be learnt from both."""
    labels = np.arange(TRAIN + TEST) % 2
    finding = verdict({"type": labels, "weekday": np.arange(TRAIN + TEST) % 7}, labels)
    assert finding.severity == "error" and "a look-up of type alone" in finding.line()


@pytest.mark.parametrize("classes", [2, 3])
def test_halves_share_each_class_and_tear_no_group(classes):
    chance = np.random.default_rng(3)
    groups = np.repeat(np.arange(60), 4)
    labels = np.repeat(chance.integers(0, classes, 60), 4)
    half = half_of(labels, groups)
    assert all(len(set(half[groups == group])) == 1 for group in range(60))
    counts = np.array([np.bincount(labels[part], minlength=classes) for part in (half, ~half)])
    assert (np.abs(counts[0] - counts[1]) <= 4).all()
