"""The one-file HTML report, and the page that compares runs."""

from multiway.report.comparison import render_comparison as render_comparison
from multiway.report.compression import CompressedLayer as CompressedLayer
from multiway.report.compression import CompressionReport as CompressionReport
from multiway.report.compression import render_compression_report as render_compression_report
from multiway.report.content import Candidate as Candidate
from multiway.report.content import CheckFinding as CheckFinding
from multiway.report.content import CoverageRow as CoverageRow
from multiway.report.content import DataCheck as DataCheck
from multiway.report.content import DeletionRow as DeletionRow
from multiway.report.content import ForecastPanel as ForecastPanel
from multiway.report.content import ForecastReport as ForecastReport
from multiway.report.content import ModelCost as ModelCost
from multiway.report.content import ScoreRow as ScoreRow
from multiway.report.content import Selection as Selection
from multiway.report.content import SplitSpan as SplitSpan
from multiway.report.content import StepErrors as StepErrors
from multiway.report.content import TrainingRow as TrainingRow
from multiway.report.content import VariateErrors as VariateErrors
from multiway.report.html import render_forecast_report as render_forecast_report
