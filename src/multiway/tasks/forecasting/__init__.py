"""Forecasting: a panel of series in; scores, intervals, the future and an explanation out."""

from typing import TYPE_CHECKING

from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.explain import Explanation as Explanation
    from multiway.explain import draw_explanation as draw_explanation
    from multiway.explain import load_explanation as load_explanation
    from multiway.explain import save_explanation as save_explanation
    from multiway.tasks.forecasting.config import ForecastConfig as ForecastConfig
    from multiway.tasks.forecasting.config import SplitOptions as SplitOptions
    from multiway.tasks.forecasting.estimator import Forecaster as Forecaster
    from multiway.tasks.forecasting.explain import explain_windows as explain_windows
    from multiway.tasks.forecasting.forecasts import backtest_frame as backtest_frame
    from multiway.tasks.forecasting.forecasts import score_backtest as score_backtest
    from multiway.tasks.forecasting.panel import Panel as Panel
    from multiway.tasks.forecasting.read import check_file as check_file
    from multiway.tasks.forecasting.read import read_panel as read_panel
    from multiway.tasks.forecasting.sizes import Borders as Borders
    from multiway.tasks.forecasting.splitting import borders_of as borders_of
    from multiway.tasks.forecasting.windows import Windows as Windows
    from multiway.tasks.forecasting.windows import split_windows as split_windows

__getattr__ = lazily(__name__)
