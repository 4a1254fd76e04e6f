"""`VolumeClassifier` in scikit-learn's manners."""

import numpy as np
import pytest
from sklearn.base import clone

import multiway
from multiway.errors import ConfigError, DataError, NotFittedError, RunError
from multiway.tasks.run import load
from tasks.scans.classes.blocks import NETWORK, SIZES, make_volumes, write_npz

TRAINING = {"batch_size": 8, "warmup_steps": 2, "learning_rate": 3e-3}
SETTINGS = {"model": NETWORK, "training": TRAINING, "draws": 20}


def make(**changes):
    return multiway.VolumeClassifier(**{"epochs": 5, "settings": SETTINGS, **changes})


@pytest.fixture(scope="module")
def fitted():
    return make().fit(*make_volumes(60))


def test_fit_predict_score(fitted):
    volumes, labels = make_volumes(20, seed=5)
    probabilities = fitted.predict_proba(volumes)
    assert probabilities.shape == (20, 2)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert np.array_equal(fitted.predict(volumes), (probabilities[:, 1] > 0.5).astype(int))
    assert fitted.score(volumes, labels) == (fitted.predict(volumes) == labels).mean() > 0.8
    assert fitted.classes_.tolist() == [0, 1]
    assert fitted.n_features_in_ == 8 * 9 * 10
    assert set(fitted.scores_["model"]) >= {"network", "majority", "logistic", "features", "trees"}


def test_sets_hold_classes_at_any_level_and_few_cases_are_said(fitted):
    volumes, labels = make_volumes(20, seed=5)
    narrow, wide = (fitted.predict_sets(volumes, level=level) for level in (50, 80))
    assert narrow.shape == (20, 2) and (wide | ~narrow).all()
    assert wide[np.arange(20), labels].mean() >= 0.6
    with pytest.warns(UserWarning, match="sets need 99 cases .* Fewer have 0, 1, which"):
        assert fitted.predict_sets(volumes, level=99).all()
    with pytest.raises(ConfigError, match="levels are percentages"):
        fitted.predict_sets(volumes, level=0.9)


def test_words_channels_and_patients():
    volumes, labels = make_volumes(60, channels=2)
    patients = np.arange(60) // 3
    words = np.array(["benign", "malignant"])[labels]
    model = make(epochs=1).fit(volumes, words, patients=patients)
    assert set(model.predict(volumes[:4])) <= {"benign", "malignant"}
    assert model.run_.state.channels == 2
    split = model.run_.tables["predictions"].query("model == 'network'").groupby("split")["patient"].agg(set)
    assert split["validation"].isdisjoint(split["test"])


@pytest.mark.parametrize("form", [bool, object])
def test_truth_values_come_back_as_truth_values(form, tmp_path):
    volumes, labels = make_volumes(40)
    model = make(epochs=1, baselines=("majority",)).fit(volumes, (labels == 1).astype(form))
    model.save(tmp_path / "run")
    for each in (model, multiway.VolumeClassifier.load(tmp_path / "run")):
        assert each.classes_.dtype == bool and each.predict(volumes[:3]).dtype == bool
    kept = load(tmp_path / "run").tables["predictions"]
    assert kept["label"].dtype == kept["predicted"].dtype == bool


def test_channels_that_stand_last_are_refused():
    volumes, labels = make_volumes(40)
    with pytest.raises(DataError, match=r"X: channels stand before the three sizes\. Got 8 channels of 9 x 10 x 1, as"):
        make().fit(volumes[..., None], labels)


def test_saved_and_loaded(fitted, tmp_path):
    fitted.save(tmp_path / "run")
    repeated = multiway.VolumeClassifier.load(tmp_path / "run")
    volumes, _ = make_volumes(5, seed=5)
    assert np.array_equal(repeated.predict_proba(volumes), fitted.predict_proba(volumes))
    assert repeated.classes_.tolist() == [0, 1]
    assert repeated.get_params()["epochs"] == 5
    settled = fitted.config().replace(baselines=("majority", "logistic", "features", "trees"))
    assert repeated.config() == load(tmp_path / "run").config == settled
    with pytest.raises(RunError, match=r"was loaded from .*\. Copy that folder"):
        repeated.save(tmp_path / "other")


def test_a_path_holds_its_own_labels(tmp_path):
    data = write_npz(tmp_path / "set.npz", counts=(12, 6, 6))
    model = make(epochs=1).fit(data)
    assert model.classes_.tolist() == ["0", "1"]
    assert model.predict_proba(str(data)).shape == (24, 2)
    assert 0 <= model.score(data) <= 1
    with pytest.raises(ConfigError, match="a path holds its own labels"):
        make().fit(data, [0, 1])


def test_parameters(fitted):
    assert clone(fitted).get_params() == fitted.get_params()
    assert repr(make(seed=3)).startswith("VolumeClassifier(epochs=5, seed=3, settings=")
    with pytest.raises(ConfigError, match="epoch is no argument"):
        make().set_params(epoch=3)
    assert make().set_params(epochs=4).config().training.epochs == 4


def test_an_explanation(fitted):
    volumes, _ = make_volumes(1, seed=5)
    found = fitted.explain(volumes, gradients=False, deletion=False)
    assert found.attention.shape == SIZES
    with pytest.raises(ConfigError, match="step is no argument; did you mean steps"):
        fitted.explain(volumes, step=3)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.zeros((4, 8, 8)), np.zeros(4), r"three sizes. Got \(4, 8, 8\)"),
        (np.zeros((4, 8, 8, 8)), np.zeros(3), r"y: one class is needed per case, \(4,\). Got \(3,\)"),
        (np.full((4, 8, 8, 8), "a"), np.zeros(4), "X: volumes hold numbers"),
        (np.zeros((4, 8, 8, 8)), [0.5, 1, 0, 1], "classes are words or whole numbers. Got 0.5"),
        (np.zeros((4, 8, 8, 8)), np.array(["a", 1, "b", 2], dtype=object), "all words or all whole numbers. Got both"),
        (np.zeros((4, 8, 8, 8)), [1, 1, 1, 1], "two classes or more are needed"),
        (np.full((9, 4, 4, 4), np.nan), np.arange(9) % 2, r"X\[0\]: every voxel must be a finite number"),
    ],
)
def test_arrays_that_do_not_fit(x, y, message):
    with pytest.raises(DataError, match=message):
        make().fit(x, y)


def test_wrong_calls(fitted):
    with pytest.raises(NotFittedError, match="call fit before this"):
        make().predict(np.zeros((1, 8, 9, 10)))
    with pytest.raises(ConfigError, match="arrays need y"):
        make().fit(make_volumes(4)[0])
    with pytest.raises(DataError, match=r"X\[0\]: the run was trained on"):
        fitted.predict(np.zeros((1, 7, 9, 10), np.uint8))
