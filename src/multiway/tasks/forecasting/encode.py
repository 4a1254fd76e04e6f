"""From a panel to scaled windows and the ridge forecast of them, and what training learns of it."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field

from multiway.config import Config
from multiway.data import datasets
from multiway.data.findings import list_some
from multiway.data.scaling import Floats, Scaler, mase_scales
from multiway.data.sources.parquet import holds_parts, parts_of
from multiway.errors import DataError, Fix
from multiway.files import sha256_of
from multiway.models.regression import Regressors
from multiway.models.series_units import Units
from multiway.tasks.forecasting.breaks import KEEP, Break, find_breaks, join_breaks
from multiway.tasks.forecasting.calendar import clock_of, season_of
from multiway.tasks.forecasting.candidate import Facts, Sizes, choose_candidates, others_in
from multiway.tasks.forecasting.config import ForecastConfig, Roles, SplitOptions, find_published_split
from multiway.tasks.forecasting.covariates import LearntCovariates
from multiway.tasks.forecasting.later_rows import Joined, join_rows
from multiway.tasks.forecasting.others import read_others
from multiway.tasks.forecasting.panel import Columns, Panel, targets_last
from multiway.tasks.forecasting.processes import join_scalers, join_words, on_times_of_all, read_shared
from multiway.tasks.forecasting.read import describe_source, later_panel, options_of_training, read_panel
from multiway.tasks.forecasting.ridge import ChosenRidge, choose_ridge
from multiway.tasks.forecasting.sizes import LONGEST, Borders, fitting, usual_borders, usual_horizon, usual_lookback
from multiway.tasks.forecasting.splitting import FEWEST, borders_of, first_scored, until, whole_borders, young_series
from multiway.tasks.forecasting.trends import Trend
from multiway.tasks.forecasting.windows import Windows, all_windows, rows_observed, split_windows
from multiway.training.processes import join_arrays as of_all
from multiway.training.processes import world

SEASONS, SPAN, LESS = (2, 7, 14), 1.5, 0.8
"""Look-backs that are tried, at least so many times the usual one; and the part of its error that one has to reach."""
MOST_CELLS = 5_000_000_000
"""Rows times series times the square of a look-back that is tried: a second or two."""
SELDOM = 0.005
"""Share of steps from which on it is said that nothing had been issued for them."""
USES = ("test", "future")
"""What candidates are refitted for."""


class ForecastState(Config):
    """All that the models are rebuilt from and later data is read by."""

    names: tuple[str, ...]
    """Of the variates, in the order of the models: those that are forecast last."""
    frequency: str | None
    """Step between times as a pandas alias, or its sessions; None for integer times."""
    season: int
    """Steps in a season."""
    scaler: Scaler
    """Fitted on the training rows."""
    mase_scale: Floats
    """`(targets,)`, the denominators of MASE in scaled units."""
    shared: bool
    """One matrix of weights serves all variates, as validation has it."""
    low: Floats
    """`(targets,)`, the smallest training values."""
    high: Floats
    """The largest."""
    later_low: dict[str, Floats] = Field(default_factory=dict)
    """The smallest values in the rows that candidates are refitted on, by what they then forecast."""
    later_high: dict[str, Floats] = Field(default_factory=dict)
    """The largest of them and of the training rows."""
    later_whole: dict[str, tuple[bool, ...]] = Field(default_factory=dict)
    """Whether all values of these rows are whole numbers."""
    later_zeros: dict[str, Floats] = Field(default_factory=dict)
    """The share of zeros among them."""
    whole: tuple[bool, ...]
    """Of every target, whether all training values are whole numbers."""
    zeros: Floats
    """`(targets,)`, the share of zeros among the training values."""
    candidates: tuple[str, ...]
    """Of the answer, in the order of their cost."""
    windows: int
    """Of the training rows."""
    columns: Columns = Columns()
    """Of the table."""
    covariates: LearntCovariates | None = None
    """Of other columns, where some are covariates."""
    trend: Trend
    """Of the training values of every target."""
    breaks: tuple[Break, ...] = ()
    """Before which rows are joined to those after."""

    def low_for(self, use: str) -> Floats:
        """The smallest values in the rows that a use is fitted on: those of the training where nothing is refitted."""
        return self.later_low.get(use, self.low)

    def high_for(self, use: str) -> Floats:
        """The largest values in these rows."""
        return self.later_high.get(use, self.high)

    def whole_for(self, use: str) -> tuple[NDArray[np.bool_], Floats]:
        """Whether all values in these rows are whole numbers, and the share of zeros among them."""
        return np.array(self.later_whole.get(use, self.whole)), self.later_zeros.get(use, self.zeros)

    def with_rows(self, use: str, panel: Panel, row: int) -> Self:
        """The same with what the rows before one say, which candidates are refitted on for a use."""
        facts = RowFacts.of(panel.values[:row, -len(self.low) :])
        return self.replace(
            later_low={**self.later_low, use: np.minimum(self.low, facts.low)},
            later_high={**self.later_high, use: np.maximum(self.high, facts.high)},
            later_whole={**self.later_whole, use: tuple(facts.whole.tolist())},
            later_zeros={**self.later_zeros, use: facts.zeros},
        )

    def outside(self, values: Floats) -> Floats:
        """Values `(rows, variates)`; of targets, how far they lie outside all rows of the last fit, added to the mean.

        Where nothing was refitted they stay as they are.
        """
        if "future" not in self.later_high:
            return values
        count = len(self.low)
        own, others = values[:, -count:], values[:, :-count]
        held = np.clip(own, self.low_for("future"), self.high_for("future"))
        return np.hstack([others, self.target_scaler.mean + own - held])

    @property
    def targets(self) -> tuple[str, ...]:
        """Names of the variates that are forecast."""
        return self.names[-len(self.mase_scale) :]

    @property
    def target_scaler(self) -> Scaler:
        """Scaling of the variates that are forecast."""
        return self.scaler.last(len(self.mase_scale))


@dataclasses.dataclass(frozen=True, kw_only=True)
class PreparedPanel:
    """A panel, split, scaled by its training rows, and cut into windows.

    windows: Of each split; of later data, which is not split, the same ones under every name.
    rows: Of the panel that are split; those after them came later, and are of no window.
    covariates: What the training rows say of them.
    young: Series without a value in the training rows: in no window but those of test whose targets begin after the
        values that scale them.
    notes: What a reader of the scores should know about data and splits, one line each.
    breaks: Before which rows are joined to those after.
    """

    panel: Panel
    borders: Borders
    scaler: Scaler
    windows: Mapping[str, Windows]
    rows: int
    split: SplitOptions
    covariates: LearntCovariates | None = None
    young: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    breaks: tuple[Break, ...] = ()

    @classmethod
    def of(cls, panel: Panel, config: ForecastConfig, rows: int | None = None) -> Self:
        """Split, scale and window; whatever can be wrong with the data shows here, before anything is written."""
        panel.future_times(1)  # a step that is unknown is unknown before the training, too
        rows = panel.num_rows if rows is None else rows
        borders = borders_of(panel.slice(0, rows), config.split)
        young, season = young_series(panel, borders), config.season or season_of(panel.frequency)
        sizes, notes = (config.lookback, config.horizon, config.num_targets), panel.notes
        published = find_published_split(config.split.protocol)
        if published is not None:
            notes = (*notes, published.note)
        training = borders.train[1] - config.horizon
        if season > max(config.lookback, training):
            longer = (
                f"The season of {season} steps is longer than the {max(training, 0)} training rows before a forecast"
            )
            notes = (*notes, f"{longer}, so there is no seasonal naive forecast.")
        if published is not None:
            if panel.covariates is not None:
                raise DataError(
                    f"{panel.source}: the protocol {config.split.protocol} is of series alone. "
                    f"Leave {list_some(panel.covariates.names)} out, or set protocol to fraction (",
                    Fix("split.protocol", "fraction"),
                    ").",
                )
            scaler = published.scale(panel.values)
            windows = published.split(all_windows(panel, scaler, *sizes), config.split.seed, panel.source)
            return cls(
                panel=panel, borders=borders, scaler=scaler, windows=windows, rows=rows, split=config.split, notes=notes
            )
        scaler = Scaler.fit(panel.values[slice(*borders.train)])
        scaled = scaler.transform(np.where(young, np.nan, panel.values))
        covariates, times = None, panel.times[slice(*borders.train)]
        if panel.covariates is not None:
            roles = config.roles.replace(static=panel.covariates.columns_of("static"))
            covariates = LearntCovariates.of(panel.covariates, roles, times, panel.frequency, season)
            notes = (*notes, *_words_on_reach(panel, config.horizon))
        windows = split_windows(scaled, borders, *sizes)
        if young.any():
            since = first_scored(panel, young, borders, season)
            scaler = scaler.taking(Scaler.fit(until(panel.values[:rows], since)), young)
            test = split_windows(scaler.transform(panel.values), borders, *sizes)["test"]
            windows["test"] = test.replace(since=torch.from_numpy(since))
        features = regressors_of(panel, covariates)
        windows = {
            name: part.with_covariates(features).replace(share=panel.share, others=panel.others)
            for name, part in windows.items()
        }
        count = config.num_targets or panel.num_variates
        low = RowFacts.of(panel.values[slice(*borders.train), -count:]).low
        falls = (low >= 0) & (RowFacts.of(panel.values[:, -count:]).low < 0)
        if falls.any():
            names = list_some(list(itertools.compress(panel.names[-count:], falls)))
            rule = "values below zero come after the training rows, so the forecast may lie there too"
            notes = (*notes, f"{names}: {rule}")
        return cls(
            panel=panel,
            borders=borders,
            scaler=scaler,
            windows=windows,
            rows=rows,
            split=config.split,
            covariates=covariates,
            young=tuple(itertools.compress(panel.names, young)),
            notes=notes,
        )

    @classmethod
    def later(cls, panel: Panel, state: ForecastState, config: ForecastConfig) -> Self:
        """Windows over all rows of later data, to score."""
        windows = all_windows(panel, state.scaler, config.lookback, config.horizon, config.num_targets)
        windows = complete(windows, panel, state.covariates)
        if np.isnan(panel.values[config.lookback :, -windows.num_targets :]).all():
            raise DataError(
                f"{panel.source}: no value to score stands after the first {config.lookback} rows. Give more."
            )
        borders = whole_borders(panel.num_rows)
        return cls(
            panel=panel,
            borders=borders,
            scaler=state.scaler,
            windows=dict.fromkeys(borders.by_name(), windows),
            rows=panel.num_rows,
            split=config.split,
            covariates=state.covariates,
            notes=panel.notes,
        )

    @property
    def source(self) -> str:
        """File name, or "the table" of data in memory."""
        return self.panel.source

    def content(self) -> Iterator[object]:
        """Names, times and values of the panel, its covariates, and what others forecast of its rows; or its files."""
        if self.panel.files:
            yield self.panel.files
            return
        yield from (self.panel.names, self.panel.times.to_numpy(), self.panel.values)
        if (covariates := self.panel.covariates) is not None:
            yield from (covariates.names, covariates.values, *itertools.chain(*covariates.words.items()))
            if (vintages := covariates.vintages) is not None:
                yield from (vintages.row, vintages.series, vintages.since, vintages.values)
        if (others := self.panel.others) is not None:
            past = (others.ends < self.panel.num_rows).numpy()  # what comes after the last row may come later
            yield from (others.names, others.ends.numpy()[past], others.values.numpy()[past])

    @property
    def few(self) -> dict[int, NDArray[np.float64]]:
        """The last values that scale each young series, in scaled units, by its place among the targets.

        One that never changes is taken to vary as far as the usual other series, in proportion to its size.
        """
        first, since = self.windows["train"], self.windows["test"].since
        if since is None:
            return {}
        scaler, start = self.scaler.last(first.num_targets), self.panel.num_variates - first.num_targets
        young, most, found = np.isin(self.panel.names[start:], self.young), max(first.lookback, FEWEST), {}
        parts = scaler.std / np.maximum(np.abs(scaler.mean), scaler.std)
        for place in np.flatnonzero(young).tolist():
            values = self.panel.values[: int(since[start + place]), start + place]
            values = values[~np.isnan(values)][-most:]
            if (values == values[0]).all():
                values = values[0] + np.median(parts[~young]) * values[0] * np.array([-1, 1])
            found[place] = (values - scaler.mean[place]) / scaler.std[place]
        return found

    @property
    def refit_rows(self) -> dict[str, int]:
        """Rows that candidates are refitted on, by what they then forecast."""
        return dict(zip(USES, (self.borders.test[0], self.panel.num_rows), strict=True))

    @property
    def refit_share(self) -> float:
        """Windows that are refitted on, over those of the training."""
        first = self.windows["train"]
        span = first.lookback + first.horizon - 1
        return sum(rows - span for rows in self.refit_rows.values()) / len(first)

    def before(self, row: int, use: str = "test") -> Windows:
        """Windows in all rows before one, as a use has them; series without a training value stay unobserved."""
        hidden, first, panel = np.isin(self.panel.names, self.young), self.windows["train"], self.panel_for(use)
        values, observed = rows_observed(self.scaler.transform(np.where(hidden, np.nan, panel.values[:row])))
        sizes = {"lookback": first.lookback, "horizon": first.horizon, "num_targets": first.num_targets}
        windows = Windows(values, observed, start=0, stop=row, **sizes).replace(share=panel.share)
        return complete(windows, panel, self.covariates)

    def panel_for(self, use: str) -> Panel:
        """The panel; of what forecasts the future, with the rows before a break as those after it."""
        return join_breaks(self.panel, self.breaks) if use == "future" else self.panel

    @functools.cached_property
    def ridge(self) -> ChosenRidge:
        """The ridge forecast, fitted when it is first needed."""
        return choose_ridge(self.windows["train"].of_targets(), self.windows["validation"].of_targets())


def complete(windows: Windows, panel: Panel, learnt: LearntCovariates | None) -> Windows:
    """Windows of a panel with its covariates, and with what others forecast of it."""
    return windows.with_covariates(regressors_of(panel, learnt)).replace(others=panel.others)


def _words_on_reach(panel: Panel, horizon: int) -> Iterator[str]:
    """Of which share of the steps of forecasts nothing had been issued, a line for each covariate with some."""
    assert panel.covariates is not None
    row = np.arange(panel.num_rows)[:, None]
    for name in panel.covariates.columns_of("future") if panel.covariates.vintages is not None else ():
        ahead = (row - panel.covariates.first_known(name, panel.num_rows))[horizon:]
        share = 1 - float(np.clip(ahead / horizon, 0, 1).mean())
        if share >= SELDOM:
            yield f"{name}: of {share:.0%} of the steps ahead nothing had been issued, and the season before stands in"


def regressors_of(panel: Panel, learnt: LearntCovariates | None) -> Regressors:
    """Covariates and clock of all rows of a panel, as models take them."""
    if learnt is None or panel.covariates is None:
        none = torch.empty(panel.num_rows, 1, 0)
        return Regressors(none, none, torch.from_numpy(clock_of(panel.times, panel.frequency)))
    return learnt.encode(panel.covariates, panel.times)


def prepare_panel(
    config: ForecastConfig,
    source: object,
    state: ForecastState | None = None,
    *,
    rows: int | None = None,
    progress: bool = False,
) -> PreparedPanel:
    """Read a file or frame and cut it into windows; see `PreparedPanel.of`, and `PreparedPanel.later` with a state.

    Where the config names updates, or the first `rows` alone are to be split, later rows are only fitted on at the end.
    """
    if state is not None:
        return PreparedPanel.later(read_later(config, state, source), state, config)
    panel = _read_own(config, source)
    breaks = _find_breaks(config, panel.slice(0, rows or panel.num_rows))
    if config.updates:
        longer, joined_notes = _join(config, source, panel.columns)
        rows, panel = panel.num_rows, check_longer(panel, _read_own(config, longer, panel.frequency))
        warned = (*panel.warned, *((words,) for words in joined_notes))
        panel = dataclasses.replace(panel, notes=(*panel.notes, *joined_notes), warned=warned)
    panel = dataclasses.replace(panel, warned=(*panel.warned, *((f"{each.rule()}. ", *KEEP) for each in breaks)))
    rows = rows or panel.num_rows
    split = panel.slice(0, rows)
    sized = fit_sizes(config, split)
    if "lookback" not in config.model_fields_set:
        sized = prefer_lookback(sized, split)
    return dataclasses.replace(PreparedPanel.of(panel, sized, rows), breaks=breaks)


def _find_breaks(config: ForecastConfig, panel: Panel) -> tuple[Break, ...]:
    """Those of the first rows, where rows are joined and this process holds all series.

    Rows before which all series stand still count where those after them are enough to forecast from.
    """
    if not config.joins_breaks or panel.share is not None:
        return ()
    season = config.season or season_of(panel.frequency)
    breaks = find_breaks(panel, season)
    still = sorted((each for each in breaks if each.is_still), key=lambda each: panel.row_of(each.first))
    left = panel.num_rows - panel.row_of(still[0].first) if len(still) == panel.num_variates else 0
    horizon = config.horizon if "horizon" in config.model_fields_set else usual_horizon(left, season)
    if left and fitting(left, horizon, None, season) is not None:
        return tuple(still)
    return tuple(each for each in breaks if not each.is_still)


def _read_own(config: ForecastConfig, source: object, usual: str | None = None) -> Panel:
    """The panel of a file, a frame, or a folder: of the latter the series of this process, where several share them.

    usual: The step of its first rows.
    """
    folder = Path(str(source)) if holds_parts(source) else None
    shared = None if folder is None or world() == 1 else read_shared(config, folder)
    if shared is None:
        panel = targets_last(read_panel(*describe_source(config, source), usual), config.targets)
    else:
        frame, options, share = shared
        panel = on_times_of_all(read_panel(frame, options), share, options)
    if config.candidates is not None:
        sizes = config.horizon, config.num_targets or panel.num_variates
        panel = dataclasses.replace(panel, others=read_others(config.candidates, config.read, panel, *sizes))
    if folder is None:
        return panel
    files = tuple((str(path.relative_to(folder)), sha256_of(path)) for path in parts_of(folder))
    return dataclasses.replace(panel, files=files)


def add_updates(config: ForecastConfig, source: object, columns: Columns) -> object:
    """A file or frame with the rows of the config's updates after its own; itself where there are none."""
    return _join(config, source, columns).rows if config.updates else source


def _join(config: ForecastConfig, source: object, columns: Columns) -> Joined:
    return join_rows([source, *map(datasets.locate, config.updates)], config.read, columns, config.roles)


def check_longer(panel: Panel, longer: Panel) -> Panel:
    """The longer panel, whose first rows are those of the other."""
    first = longer.times[: panel.num_rows]
    if longer.names != panel.names or not first.equals(panel.times) or longer.num_rows == panel.num_rows:
        raise DataError(
            f"{longer.source}: later rows are of the same series, and come after {panel.times[-1]}. "
            f"With them there are {longer.num_rows} rows of {list_some(longer.names)}."
        )
    return longer


def fit_sizes(config: ForecastConfig, panel: Panel) -> ForecastConfig:
    """A config whose horizon, shares of the splits and look-back, where they are not given, fit the rows.

    Without a horizon, it gives way to the shares; with one, the shares do, down to a validation and a test of one
    horizon each.
    """
    given, season = config.model_fields_set, config.season or season_of(panel.frequency)
    if find_published_split(config.split.protocol) is not None:
        return config
    borders = borders_of(panel, config.split)
    train, *others = (stop - start for start, stop in borders.by_name().values())
    sizes: dict[str, object] = {}
    given_shares = {"train", "test"} & config.split.model_fields_set
    is_short = min(others) < config.horizon or train <= config.horizon
    if is_short and "horizon" not in given:
        sizes["horizon"] = min(usual_horizon(panel.num_rows, season), *others)
    elif is_short and not given_shares and (train, borders.test[0]) == usual_borders(panel.num_rows):
        lookback = config.lookback if "lookback" in given else None
        found = {fix.field: fix.value for fix in fitting(panel.num_rows, config.horizon, lookback, season) or ()}
        shares = {name: found[f"split.{name}"] for name in ("train", "test") if f"split.{name}" in found}
        config = config.replace(split={**config.split.model_dump(exclude_unset=True), **shares})
        train = borders_of(panel, config.split).train[1]
    horizon = int(str(sizes.get("horizon", config.horizon)))
    if "lookback" not in given and train > horizon:
        sizes["lookback"] = usual_lookback(train, horizon, season)
    return config.replace(**sizes)


def prefer_lookback(config: ForecastConfig, panel: Panel) -> ForecastConfig:
    """A config whose usual look-back is one of several seasons in its place, if ridge errs less on validation.

    A look-back of four days hides the week: two, seven and fourteen seasons are tried where the rows allow it. The
    usual one stays where none saves a fifth of its error, as one stretch of validation tells no less for sure.
    """
    season, usual = config.season or season_of(panel.frequency), config.lookback
    if usual != LONGEST or panel.share is not None or find_published_split(config.split.protocol) is not None:
        return config
    train = borders_of(panel, config.split).train[1]
    most = min((train - config.horizon) // 2, math.isqrt(MOST_CELLS // (train * panel.num_variates)))
    lookbacks = [seasons * season for seasons in SEASONS if SPAN * usual <= seasons * season <= most]
    if not lookbacks:
        return config
    losses = {usual: LESS * _loss_of(config, panel)}
    losses |= {lookback: _loss_of(config.replace(lookback=lookback), panel) for lookback in lookbacks}
    return config.replace(lookback=min(losses, key=lambda each: losses[each]))


def _loss_of(config: ForecastConfig, panel: Panel) -> float:
    """The error of ridge on validation, which starts at the same row for every look-back."""
    windows = PreparedPanel.of(panel, config).windows
    return choose_ridge(windows["train"].of_targets(), windows["validation"].of_targets(), own=False).validation_mse


def read_later(config: ForecastConfig, state: ForecastState, source: object) -> Panel:
    """Read a file or frame as a run read its own; see `later_panel`."""
    options = options_of_training(source, config.read, state.columns)
    roles = Roles() if state.covariates is None else state.covariates.roles.replace(static=())
    panel = later_panel(source, options, state.names, state.frequency, roles, state.columns.zone)
    names = others_in(state.candidates)
    if config.candidates is None or not names:
        return panel
    others = read_others(config.candidates, config.read, panel, config.horizon, len(state.targets), names)
    return dataclasses.replace(panel, others=others)


def learn_state(config: ForecastConfig, prepared: PreparedPanel) -> ForecastState:
    """Names, season and scaling of the training rows, and the kind of ridge that validation prefers."""
    panel, scaler = prepared.panel, prepared.scaler
    season = config.season or season_of(panel.frequency)
    known = scaler.transform(panel.values[: prepared.borders.test[0]])
    training, young = known[slice(*prepared.borders.train)], np.isin(panel.names, prepared.young)
    scales = np.where(young, mase_scales(known, season), mase_scales(training, season))
    targets = scales[-prepared.windows["train"].num_targets :]
    windows = prepared.windows["train"].of_targets()
    values = panel.values[slice(*prepared.borders.train), -windows.num_targets :]
    known_facts = RowFacts.of(values)
    facts = Facts.of(
        windows,
        season,
        known_facts.low,
        known_facts.zeros,
        network=config.trains_network(len(windows)),
        shared=panel.share is not None,
    )
    state = ForecastState(
        names=panel.names,
        frequency=panel.frequency,
        season=season,
        scaler=scaler,
        mase_scale=targets,
        shared=prepared.ridge.shared,
        columns=panel.columns,
        low=known_facts.low,
        high=known_facts.high,
        windows=len(windows),
        covariates=prepared.covariates,
        whole=tuple(known_facts.whole.tolist()),
        zeros=known_facts.zeros,
        trend=Trend.of(values),
        candidates=choose_candidates(config.answer, facts),
        breaks=prepared.breaks,
    )
    for use, row in () if config.refit == "none" else prepared.refit_rows.items():
        state = state.with_rows(use, prepared.panel_for(use), row)
    return state


def join_state(state: ForecastState) -> ForecastState:
    """Of the series of all processes, in the first."""
    names, whole = join_words(state.names), of_all(np.array(state.whole), 0)
    arrays: dict[str, Any] = {name: of_all(getattr(state, name), 0) for name in ("mase_scale", "low", "high", "zeros")}
    for name in ("later_low", "later_high", "later_zeros"):
        arrays[name] = {use: of_all(each, 0) for use, each in getattr(state, name).items()}
    arrays["later_whole"] = {use: tuple(of_all(np.array(each), 0).tolist()) for use, each in state.later_whole.items()}
    arrays["trend"] = {name: of_all(getattr(state.trend, name), 0) for name in Trend.model_fields}
    scaler = join_scalers(state.scaler)
    return state.replace(names=names, scaler=scaler, whole=tuple(whole.tolist()), **arrays)


def sizes_of(config: ForecastConfig, state: ForecastState, use: str = "") -> Sizes:
    """What the candidates of a run are built from that are fitted for a use; those of the training rows if none."""
    scaler = state.target_scaler
    parts = (scaler.mean, scaler.std, state.low_for(use), state.high_for(use))
    units = Units(*map(torch.from_numpy, parts))
    learnt = state.covariates
    return Sizes(
        lookback=config.lookback,
        horizon=config.horizon,
        season=state.season,
        units=units,
        matrices=1 if state.shared else len(state.targets),
        known=() if learnt is None else tuple(learnt.known.values()),
        seen=() if learnt is None else tuple(learnt.seen.values()),
        static=0 if learnt is None else learnt.num_static,
        calendar=0 if learnt is None else learnt.calendar,
        variates=len(state.names),
        config=config,
        others=tuple(others_in(state.candidates)),
    )


class RowFacts(NamedTuple):
    """What rows say of each series: its smallest and largest value, whether all are whole, and the share of zeros."""

    low: Floats
    high: Floats
    whole: NDArray[np.bool_]
    zeros: Floats

    @classmethod
    def of(cls, values: Floats) -> "RowFacts":
        """Of all rows of a fit; a series without a value has zeros."""
        seen = ~np.isnan(values)
        low, high = np.min(values, 0, where=seen, initial=np.inf), np.max(values, 0, where=seen, initial=-np.inf)
        return cls(
            low=np.where(seen.any(0), low, 0.0),
            high=np.where(seen.any(0), high, 0.0),
            whole=np.asarray(((values == np.rint(values)) | ~seen).all(0)),
            zeros=(values == 0).sum(0) / np.maximum(seen.sum(0), 1),
        )
