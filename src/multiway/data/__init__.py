"""From files to checked, typed batches; knows no model."""

from typing import TYPE_CHECKING

from multiway.data.findings import CheckReport as CheckReport
from multiway.data.findings import Finding as Finding
from multiway.data.findings import Place as Place
from multiway.data.options import ReadOptions as ReadOptions
from multiway.data.series.frequency import season_of as season_of
from multiway.data.series.panel import Panel as Panel
from multiway.data.series.panel import match_panel as match_panel
from multiway.data.series.reading import check_file as check_file
from multiway.data.series.reading import read_panel as read_panel
from multiway.data.series.scaling import Scaler as Scaler
from multiway.data.series.scaling import mase_scales as mase_scales
from multiway.data.series.splits import Borders as Borders
from multiway.data.series.splits import SplitOptions as SplitOptions
from multiway.data.series.splits import about_young as about_young
from multiway.data.series.splits import borders_of as borders_of
from multiway.data.series.splits import check_borders as check_borders
from multiway.data.series.splits import young_series as young_series
from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.data.series.later import all_windows as all_windows
    from multiway.data.series.later import last_window as last_window
    from multiway.data.series.stretches import complete_stretches as complete_stretches
    from multiway.data.series.windows import Windows as Windows
    from multiway.data.series.windows import split_windows as split_windows

__getattr__ = lazily(
    __name__,
    {
        "multiway.data.series.later": ("all_windows", "last_window"),
        "multiway.data.series.stretches": ("complete_stretches",),
        "multiway.data.series.windows": ("Windows", "split_windows"),
    },
)
