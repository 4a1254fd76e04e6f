import pytest

from multiway.errors import ConfigError
from multiway.models import (
    HOTForecaster,
    HOTForecasterConfig,
    create_model,
    list_models,
    model_config,
    register,
)


def test_models_are_listed_by_pattern():
    assert list_models("hot_forecaster*") == ["hot_forecaster", "hot_forecaster_later", "hot_forecaster_paper"]
    assert "hot_forecaster" in list_models()
    assert list_models("no such*") == []


def test_a_named_size_is_built_and_its_fields_can_be_overridden():
    model = create_model("hot_forecaster_paper", num_variates=3, horizon=24)
    assert isinstance(model, HOTForecaster)
    assert (model.config.dim, model.config.horizon, model.config.preset) == (128, 24, "paper")


def test_a_config_round_trips_through_plain_values():
    config = model_config("hot_forecaster", num_variates=3, attended_modes=(1,))
    assert HOTForecasterConfig.parse(config.plain()) == config


def test_an_unknown_name_is_refused_with_its_nearest():
    with pytest.raises(ConfigError, match=r"Got 'hot_forcaster'; did you mean hot_forecaster\?"):
        create_model("hot_forcaster", num_variates=3)
    with pytest.raises(ConfigError, match=r"`list_models\(\)` gives the names there are\. Got 'zzz'\."):
        create_model("zzz")


def test_an_unknown_field_is_refused_with_its_nearest():
    with pytest.raises(
        ConfigError, match=r"hot_forecaster: patch_size is not a known field, did you mean patch_length"
    ):
        create_model("hot_forecaster", num_variates=3, patch_size=4)


def test_a_taken_name_is_refused():
    with pytest.raises(ConfigError, match=r"Got 'hot_forecaster', which is taken"):
        register("hot_forecaster", HOTForecaster)
