"""The sizes of a run that fits a panel."""

from multiway.errors import DataError, Fix
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.frequency import season_of
from multiway.tasks.forecasting.panel import Panel
from multiway.tasks.forecasting.sizes import fitting, largest, usual_horizon


def sizes_for(config: ForecastConfig, panel: Panel) -> tuple[Fix, ...]:
    """Horizon, look-back and shares of a run on a panel, as far as they are not given and not the usual ones."""
    season = config.season or season_of(panel.frequency)
    given = config.model_fields_set
    horizon = config.horizon if "horizon" in given else usual_horizon(panel.num_rows, season)
    lookback = config.lookback if "lookback" in given else None
    fixes = fitting(panel.num_rows, horizon, lookback, season)
    if fixes is None:
        parts: list[str | Fix] = [part for fix in largest(panel.num_rows, lookback, season) for part in (fix, " ")]
        rule = f"{panel.source}: {panel.num_rows} rows are too few for a horizon of {horizon}. Set "
        raise DataError(rule, *parts[:-1], ".")
    return fixes if "horizon" in given else (Fix("horizon", horizon), *fixes)
