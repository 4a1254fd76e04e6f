"""What a check says of the series of a file or frame, and what a forecast of them needs besides."""

import numpy as np

from multiway.data.findings import CheckReport
from multiway.data.looking import look_at
from multiway.errors import DataError, Fix
from multiway.tasks.forecasting.calendar import season_of
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.read import check_file, describe_source, read_panel
from multiway.tasks.forecasting.sizes import fitting, largest, usual_horizon
from multiway.tasks.kind import Kind


def may_take(source: object, *, is_chosen: bool = False) -> bool:
    """Tables of numbers in the order of time, and arrays."""
    look = look_at(source)
    return isinstance(source, np.ndarray) if look is None else look.is_of_series or is_chosen


def propose_settings(config: ForecastConfig, source: object) -> tuple[Fix, ...]:
    """A horizon, where none is named, and sizes that fit the rows."""
    panel, given = read_panel(*describe_source(config, source)), config.model_fields_set
    season = config.season or season_of(panel.frequency)
    horizon = config.horizon if "horizon" in given else usual_horizon(panel.num_rows, season)
    lookback = config.lookback if "lookback" in given else None
    fixes = fitting(panel.num_rows, horizon, lookback, season)
    if fixes is None:
        parts: list[str | Fix] = [part for fix in largest(panel.num_rows, lookback, season) for part in (fix, " ")]
        rule = f"{panel.source}: {panel.num_rows} rows are too few for a horizon of {horizon}. Set "
        raise DataError(rule, *parts[:-1], ".")
    return fixes if "horizon" in given else (Fix("horizon", horizon), *fixes)


class PanelKind(Kind):
    """Series side by side in time."""

    def check(self, config: ForecastConfig, source: object) -> CheckReport:
        """What is in a file or frame of series."""
        if isinstance(source, tuple):
            raise DataError("forecast: series are forecast from themselves. Give one frame and no y.")
        own, read, roles = describe_source(config, source)
        return check_file(own, read, config.split, roles)


PANELS = PanelKind(could_take=may_take, proposal=propose_settings)
