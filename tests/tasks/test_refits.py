"""What the answer is refitted on once it was chosen and scored, and what stays as it was."""

import numpy as np
import pandas as pd
import pytest

import multiway

ROWS = 200


@pytest.fixture(scope="module")
def numbers():
    generator = np.random.default_rng(5)
    x = generator.normal(size=(ROWS, 3))
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    return frame, x @ [1.0, -2.0, 0.5] + generator.normal(size=ROWS)


def fitted(numbers, **settings):
    settings = {"draws": 0, "answer": "ridge", "baselines": ["mean", "ridge"], "training": {"epochs": 1}, **settings}
    return multiway.TabularRegressor(settings=settings).fit(*numbers)


def test_later_rows_are_predicted_by_a_ridge_of_all_rows_and_scores_stay(numbers):
    x, y = numbers
    refitted, before = fitted(numbers), fitted(numbers, refit="none")
    pd.testing.assert_frame_equal(refitted.scores_, before.scores_)
    penalty = refitted.run_.facts["learnt"]["ridge"]["penalty"]
    standard = (x - x.mean()) / x.std(ddof=0)
    weight = np.linalg.solve(standard.T @ standard / ROWS + penalty * np.eye(3), standard.T @ (y - y.mean()) / ROWS)
    np.testing.assert_allclose(refitted.predict(x), standard @ weight + y.mean(), rtol=1e-5, atol=1e-5)
    assert abs(refitted.predict(x) - before.predict(x)).max() > 1e-3
    assert "refitted on 200 to predict" in refitted.run_.line and "refitted" not in before.run_.line


def test_a_network_is_refitted_by_the_setting_all(numbers):
    closed, trained = fitted(numbers, answer="network"), fitted(numbers, answer="network", refit="all")
    assert not closed.run_.refits and [*trained.run_.refits] == ["network"]
    pd.testing.assert_frame_equal(closed.scores_, trained.scores_)
    assert abs(closed.predict(numbers[0]) - trained.predict(numbers[0])).max() > 1e-3


def test_a_stored_run_predicts_as_it_is_refitted(numbers, tmp_path):
    model = fitted(numbers)
    model.save(tmp_path / "run")
    loaded = multiway.TabularRegressor.load(tmp_path / "run")
    np.testing.assert_array_equal(loaded.predict(numbers[0]), model.predict(numbers[0]))


def test_texts_that_the_data_call_test_stay_out():
    texts = [f"{word} {place}" for place in range(30) for word in ("good film", "bad film")]
    parts = ["train"] * 40 + ["validation"] * 10 + ["test"] * 10
    labels = ["good", "bad"] * 30
    frame = pd.DataFrame({"text": texts, "label": labels, "split": parts})
    changed = frame.assign(label=labels[:50] + labels[50:][::-1])
    from multiway.tasks.lifecycle import fit_in_memory
    from multiway.tasks.registry import task_of

    task = task_of("text")
    config = task.config.parse(
        {
            "answer": "tfidf",
            "inputs": "words",
            "baselines": ["tfidf"],
            "draws": 0,
            "training": {"epochs": 1},
            "read": {"split": "split"},
        }
    )
    one, other = (fit_in_memory(task, config, each) for each in (frame, changed))
    assert one.facts["refitted"] == {"models": ["tfidf"], "rows": 50, "fitted": 40}
    weights = [run.refits["tfidf"].weight.numpy() for run in (one, other)]
    np.testing.assert_array_equal(*weights)
    assert abs(weights[0] - one.models["tfidf"].weight.numpy()).max() > 0
