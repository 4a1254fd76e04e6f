"""Forecasting: a panel of series in; scores, intervals, the future and an explanation out."""

from multiway.explain import Explanation as Explanation
from multiway.explain import draw_explanation as draw_explanation
from multiway.explain import load_explanation as load_explanation
from multiway.explain import save_explanation as save_explanation
from multiway.tasks.forecasting.backtest import backtest_frame as backtest_frame
from multiway.tasks.forecasting.backtest import score_backtest as score_backtest
from multiway.tasks.forecasting.config import ForecastConfig as ForecastConfig
from multiway.tasks.forecasting.estimator import Forecaster as Forecaster
from multiway.tasks.forecasting.explanation import explain as explain
