"""Options of the command line for series."""

from multiway.tasks.options import names, percentages, whole
from multiway.tasks.protocol import Option

OPTIONS = (
    Option(name="horizon", field="horizon", commands=("train", "audit"), read=whole, help="Steps to forecast."),
    Option(
        name="lookback", field="lookback", commands=("train", "audit"), read=whole,
        help="Past steps that the model sees.",
    ),
    Option(
        name="targets", field="targets", commands=("train", "audit"), read=names,
        help="Series to forecast from the others, separated by commas; every series if not given.",
    ),
    Option(
        name="protocol", field="split.protocol", commands=("train", "audit"),
        help="How rows are split: auto, fraction, dates, ett_hourly, ett_quarter_hourly, or leaky_random_windows.",
    ),
    Option(name="variates", field="read.variates", read=names, help="Columns to use, separated by commas."),
    Option(name="missing", field="read.missing", help="What to do with missing cells: error, mask or ffill."),
    Option(
        name="duplicates", field="read.duplicates", help="Repeated time stamps: error, first, last, mean or keep."
    ),
    Option(name="gaps", field="read.gaps", help="Absent time stamps: error, fill or ignore."),
    Option(
        name="layout", commands=("predict",), choices=("long", "wide"),
        help="Rows per series and time, or a column per series; long if not given.",
    ),
    Option(
        name="levels", commands=("predict",), read=percentages,
        help="Interval levels in percent: 80,95; those of the training if not given.",
    ),
    Option(
        name="cutoffs", commands=("backtest",), read=whole,
        help="How many past moments to forecast from; 10 if not given.",
    ),
    Option(name="step", commands=("backtest",), read=whole, help="Steps between them; the horizon if not given."),
)  # fmt: skip
