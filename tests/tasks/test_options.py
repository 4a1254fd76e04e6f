"""Usual values below the given ones, and what the field `model` of a config may say."""

from typing import Annotated

import pytest

from multiway.config import Config
from multiway.tasks.options import check_model, network_fields, starting_from
from multiway.training import TrainingConfig

KNOWN = ("tabular_mlp", "tabular_mlp_dense")


class Settings(Config):
    training: Annotated[TrainingConfig, starting_from({"epochs": 7, "batch_size": 5})]


def test_given_values_stand_above_the_usual_ones():
    training = Settings.parse({"training": {"epochs": 2}}).training
    assert (training.epochs, training.batch_size) == (2, 5)
    own = TrainingConfig(epochs=3)
    assert Settings(training=own).training is own


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"name": "tabular_mpl"}, "one of tabular_mlp, tabular_mlp_dense; did you mean tabular_mlp?"),
        ({"in_features": 3}, "model.in_features is set by the data"),
    ],
)
def test_a_model_that_does_not_fit_is_refused(model, words):
    with pytest.raises(ValueError, match=words.replace("?", r"\?")):
        check_model(model, "tabular_mlp", KNOWN, ("in_features",))


def test_sizes_of_the_data_join_the_fields():
    fields = network_fields({"name": "tabular_mlp", "hidden": [8]}, in_features=3)
    assert fields == {"hidden": [8], "in_features": 3}
