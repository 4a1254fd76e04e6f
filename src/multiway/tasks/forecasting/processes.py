"""Series of a folder that several processes hold between them: who holds which, on one grid of times."""

import contextlib
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from multiway.data.findings import Findings, Unreadable, list_some, soundly
from multiway.data.long_tables import find_long
from multiway.data.options import ReadOptions
from multiway.data.scaling import Scaler
from multiway.data.sources.columns import RawTable, find_time_column, sound_times
from multiway.data.sources.frames import SOURCE, source_name
from multiway.data.sources.layouts import with_joined_times
from multiway.data.sources.parquet import ROWS, Chosen, Parts, codes_of, read_parts, values_of
from multiway.errors import ConfigError, DataError
from multiway.tasks.forecasting.calendar import step_times
from multiway.tasks.forecasting.candidate import candidates
from multiway.tasks.forecasting.config import ForecastConfig
from multiway.tasks.forecasting.panel import Panel, Share
from multiway.tasks.options import AUTO
from multiway.training.processes import everywhere, is_main, join_arrays, rank, world

WHOLE = ("targets", "future", "past", "static", "issued", "holidays", "baselines", "updates", "candidates")
"""Settings that need all series, or their covariates, in one process."""


def read_shared(config: ForecastConfig, folder: Path) -> tuple[pd.DataFrame, ReadOptions, Share] | None:
    """The rows of the series of this process, how they are read, and which ones they are.

    None where every process reads the whole: the table is wide, or its series form fewer groups than processes.
    """
    parts = Parts(folder)
    ids = _ids(parts, config)
    if not ids:
        return None
    every, held = _series(parts, ids)
    size = config.group_of(every.num_rows) or every.num_rows
    borders = deal_series(every[ROWS].to_numpy(), world(), size)
    if borders is None:
        return None
    _refuse_others(config, source_name(folder))
    first, stop = borders[rank()], borders[rank() + 1]
    own, limit = Chosen(ids, every, held, first, stop), config.read.max_bytes
    frame = soundly(source_name(folder), lambda findings: read_parts(folder, limit, findings, own))
    pa.default_memory_pool().release_unused()  # other rows were read and left
    frame.attrs[SOURCE] = source_name(folder)
    return frame, config.read.replace(id_column=ids), Share(first, stop, every.num_rows)


def _ids(parts: Parts, config: ForecastConfig) -> tuple[str, ...]:
    """Columns that name the series, as named or as the first row group shows them; none where it is wide."""
    if config.read.id_column is not None:
        return config.read.id_column
    table, findings = RawTable.whole(parts.read(0).to_pandas()), Findings(source_name(parts.folder))
    with contextlib.suppress(Unreadable):
        table = with_joined_times(table, config.read.time_column, config.read, findings)
        time = find_time_column(table, config.read, findings)
        table, times = sound_times(table, time, config.read, findings)
        long = find_long(table.drop(list(config.roles.columns)), time, times, config.read, findings)
        return () if long is None else long.ids
    return ()


def _series(parts: Parts, ids: Sequence[str]) -> tuple[pa.Table, list[NDArray[np.int64]]]:
    """All series in the order in which they appear, and those of each row group; each process looks at some."""
    own = [parts.series_in(number, ids) for number in range(rank(), len(parts.groups), world())]
    every = [_unpack(message) for message in everywhere(_pack(own))]
    tables = [every[number % world()][number // world()] for number in range(len(parts.groups))]
    whole = pa.concat_tables(tables).group_by(list(ids), use_threads=False).aggregate([(ROWS, "sum")])
    whole = whole.rename_columns([*ids, ROWS])
    values = values_of(whole, ids)
    known = pd.Index(codes_of(whole, ids, values))
    return whole, [known.get_indexer(pd.Index(codes_of(table, ids, values))) for table in tables]


def deal_series(rows: NDArray[Any], shares: int, group: int) -> list[int] | None:
    """Borders of stretches of successive series, in whole groups, of about as many rows; None without one for each."""
    sums = np.add.reduceat(rows, np.arange(0, len(rows), group)).cumsum()
    if len(sums) < shares:
        return None
    borders = [0]
    for place in range(1, shares):
        near = int(np.searchsorted(sums, sums[-1] * place / shares)) + 1
        borders.append(min(max(near, borders[-1] + 1), len(sums) - (shares - place)))
    return [*(border * group for border in borders), len(rows)]


def _refuse_others(config: ForecastConfig, source: str) -> None:
    """Settings of which a process that holds some of the series can make nothing."""
    named = [name for name in WHOLE if getattr(config, name)]
    named += ["read.variates"] if config.read.variates is not None else []
    named += ["metric"] if config.metric != "mse" else []
    summed = [name for name, each in candidates().items() if each.is_summed]
    named += ["answer"] if config.answer not in (AUTO, *summed) else []
    named += ["split.protocol"] if config.split.protocol not in ("fraction", "dates") else []
    if named:
        raise ConfigError(
            f"{source}: {world()} processes hold its series between them, and {list_some(named)} need all of them in "
            "one. "
            f"Leave {'it' if len(named) == 1 else 'them'} out, or train in one process."
        )


def words_on_shares(share: Share) -> str:
    """What becomes of the candidates, in a sentence."""
    return (
        f"{world()} processes hold {share.of:,} series between them: ridge of one matrix or one for each, the naive "
        "forecasts and the network are candidates; those that are fitted otherwise step aside."
    )


def on_times_of_all(panel: Panel, share: Share, options: ReadOptions) -> Panel:
    """The series of this process at the times of all; where they have none they have not begun, or have ended."""
    if not panel.times.is_unique:
        raise DataError(f"{panel.source}: times repeat within a series, which one process alone can read.")
    frequencies = [str(each.decode()) for each in everywhere(str(panel.frequency or "").encode())]
    steps = sorted({*frequencies} - {""})
    if len(steps) > 1:
        raise DataError(f"{panel.source}: some series have steps of {steps[0]}, others of {steps[1]}. Resample them.")
    times, frequency = panel.times, steps[0] if steps else None
    own = pa.Table.from_pandas(pd.DataFrame({"time": times}), preserve_index=False)
    for message in everywhere(_pack([own])):
        for other in _unpack(message):
            times = times.union(pd.Index(other.to_pandas()["time"]))
    if frequency is not None and options.gaps != "ignore" and isinstance(times, pd.DatetimeIndex):
        grid = step_times(times[0], frequency, times[-1]).as_unit(times.unit)
        if options.gaps != "fill" and len(grid) != len(times):
            raise DataError(
                f"{panel.source}: no series has a row at some of the times from {times[0]} to {times[-1]}. "
                "Fill the gap."
            )
        times = grid
    values = panel.values
    if not times.equals(panel.times):
        values = np.full((len(times), panel.num_variates), np.nan)
        values[times.get_indexer(panel.times)] = panel.values
    notes = (*panel.notes, "What is noted of the data is of the series of the first process.")
    return dataclasses.replace(panel, values=values, times=times, frequency=frequency, share=share, notes=notes)


def join_scalers(scaler: Scaler) -> Scaler:
    """Of the series of all processes, in the first."""
    flags = np.zeros(len(scaler.mean), bool)
    flags[list(scaler.constant)] = True
    every = join_arrays(flags, 0)
    return Scaler(join_arrays(scaler.mean, 0), join_arrays(scaler.std, 0), tuple(np.flatnonzero(every).tolist()))


def join_words(own: Sequence[str]) -> tuple[str, ...]:
    """Words of all processes, in the first."""
    frame = pd.DataFrame({"word": pd.array(list(own), dtype="str")})
    return tuple(join_frames(frame)["word"].tolist())


def join_frames(own: pd.DataFrame) -> pd.DataFrame:
    """Rows of all processes, in the first; elsewhere its own."""
    message = join_arrays(np.frombuffer(_pack([pa.Table.from_pandas(own, preserve_index=False)]), np.uint8), 0)
    if not is_main():
        return own
    frame: pd.DataFrame = pd.concat([table.to_pandas() for table in _unpack(message.tobytes())], ignore_index=True)
    return frame


def _pack(tables: Sequence[pa.Table]) -> bytes:
    """Tables as one message, one stream after another."""
    sink = pa.BufferOutputStream()
    for table in tables:
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
    return bytes(sink.getvalue())


def _unpack(message: bytes) -> list[pa.Table]:
    source, tables = pa.BufferReader(message), []
    while source.tell() < len(message):
        tables.append(pa.ipc.open_stream(source).read_all())
    return tables
