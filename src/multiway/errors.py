"""The errors a user can cause; each message is one line: where, the rule, the values, the fix."""

import contextlib
import dataclasses
import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Self

_HOME = f"{Path(__file__).parent}{os.sep}"
"""Where the code of this package lies."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fix:
    """A setting that cures an error, as data: the command line and the estimators each spell it in their own way.

    field: Its place in the config, such as "read.decimal".
    value: What to set it to.
    like: Stands for a value that only the user knows, such as NAME; `value` says nothing then.
    """

    field: str
    value: object = None
    like: str = ""

    def __str__(self) -> str:
        return f"{self.field}={self.like or self.value}"


Message = tuple[str | Fix, ...]
"""A sentence with its fixes in their places."""
Spell = Callable[[Fix], str]
"""How someone writes a fix."""


def spell_message(message: Iterable[str | Fix], spell: Spell = str) -> str:
    """A message as text."""
    return "".join(part if isinstance(part, str) else spell(part) for part in message)


def write_command(*words: object, **options: object) -> str:
    """A command that cures an error, as it is typed; an option with a list is given several times."""
    listed = {name: value if isinstance(value, list) else [value] for name, value in options.items()}
    given = (f"--{name} {shlex.quote(str(value))}" for name, values in listed.items() for value in values)
    return " ".join(["multiway", *map(str, words), *given])


class MultiwayError(Exception):
    """Base of every error this library raises on purpose; the command line prints it and exits with 1.

    Its arguments are the parts of one sentence: `DataError("Write points, or set ", Fix("read.decimal", ","), ".")`.
    """

    task: str | None = None
    """The task whose config the fixes are of, where it is known."""

    def __str__(self) -> str:
        return self.spell()

    def spell(self, spell: Spell = str) -> str:
        """The sentence, its fixes written by whoever prints it."""
        return spell_message(self.args, spell)


@contextlib.contextmanager
def concerning(task: str) -> Iterator[None]:
    """Say of errors raised within which task's options their fixes are of."""
    try:
        yield
    except MultiwayError as error:
        error.task = error.task or task
        raise


class ShapeError(MultiwayError, ValueError):
    """A tensor's axes do not fit the operation."""


class DtypeError(MultiwayError, TypeError):
    """A tensor's numbers are of another type than the layer's."""


class ConfigError(MultiwayError, ValueError):
    """An option is unknown, out of range, or contradicts another."""


class ArgumentError(ConfigError, TypeError):
    """A function was given an argument that it does not have; Python's own error for that is a base."""


class DataError(MultiwayError, ValueError):
    """A file or frame does not hold what the task needs."""


class OverBudgetError(DataError):
    """Reading takes more than it may: it ends at once, whatever else there is to say of the data."""


class RunError(MultiwayError, RuntimeError):
    """A run cannot be started, continued or read."""


class StorageError(RunError):
    """Something cannot be written: no room, no right to, no folder."""


class MultiwayWarning(UserWarning):
    """A run can be used, and what it says should be read with care; the command line prints it and goes on.

    Its arguments are parts of one sentence, as those of an error are.
    """

    task: str | None = None
    """The task whose config the fixes are of, where it is known."""

    def __str__(self) -> str:
        return self.spell()

    def spell(self, spell: Spell = str) -> str:
        """The sentence, its fixes written by whoever prints it."""
        return spell_message(self.args, spell).strip()

    @classmethod
    def of(cls, task: str, *parts: str | Fix) -> Self:
        """A warning about data or settings of a task."""
        warning = cls(*parts)
        warning.task = task
        return warning


class CheckWarning(MultiwayWarning):
    """What a check warns of in the data of a run that is being trained."""


def warn(warning: str | MultiwayWarning) -> None:
    """Warn at the line of the user's own that called this package, however deep in it the cause was found."""
    frames = [frame.f_code.co_filename for frame, _ in traceback.walk_stack(sys._getframe())]
    outermost = max(level for level, file in enumerate(frames) if file.startswith(_HOME))
    said = MultiwayWarning(warning) if isinstance(warning, str) else warning
    warnings.warn(said, stacklevel=outermost + 2)


class NotFittedError(MultiwayError, ValueError, AttributeError):
    """An estimator was used before `fit`; the bases are those scikit-learn's own error has."""


ELSEWHERE: dict[str, tuple[str, ...]] = {
    name: tuple(own.split())
    for name, own in {
        "futr_exog_list": "future", "future_covariates": "future future_df", "known_covariates_names": "future",
        "known_dynamic_columns": "future", "hist_exog_list": "past", "past_covariates": "past",
        "past_dynamic_columns": "past", "stat_exog_list": "static", "static_covariates": "static static_df",
        "static_features": "static static_df", "static_columns": "static", "static_covariates_df": "static_df",
        "static_features_df": "static_df", "id_col": "id_column", "item_id": "id_column", "time_col": "time_column",
        "timestamp_column": "time_column", "target": "value_column", "target_column": "value_column",
        "target_col": "value_column", "freq": "frequency", "country_holidays": "holidays", "X_df": "future_df",
        "futr_df": "future_df", "known_covariates": "future_df future", "h": "horizon",
        "prediction_length": "horizon", "output_chunk_length": "horizon", "input_size": "lookback",
        "context_length": "lookback", "input_chunk_length": "lookback", "level": "levels",
        "quantile_levels": "quantiles", "time_limit": "budget", "eval_metric": "metric",
        "n_windows": "cutoffs", "step_size": "step",
        "historical_forecasts": "backtest",
    }.items()
}  # fmt: skip
"""Names that other libraries have for what is meant here, which may be several: the first that is known is meant."""


def closest(name: str, known: Iterable[str]) -> str:
    """End a sentence about an unknown name with the nearest known one, if one is near."""
    import difflib

    known = list(known)
    own = [each for each in ELSEWHERE.get(name, ()) if each in known]
    near = own[:1] or difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else "."


def end_sentence(sentence: str) -> str:
    """A sentence with its full stop; a question has its mark."""
    return sentence if sentence.endswith("?") else f"{sentence}."


def in_a_line(error: Exception, limit: int = 160) -> str:
    """What another library says of an error, without its line breaks."""
    return " ".join(str(error).split())[:limit]


def check_names(
    where: str, given: Collection[str], known: Collection[str], others: Mapping[str, Collection[str]] | None = None
) -> None:
    """Refuse arguments by name that a function does not have.

    others: Arguments of other functions, which may be meant where other libraries have a name for them.

    Raises:
        ArgumentError: There is one.
    """
    for name in given:
        if name not in known:
            meant = ELSEWHERE.get(name, ())
            there = () if {*meant} & {*known} else (others or {}).items()
            call = next((f"{other}({own}=...)" for own in meant for other, some in there if own in some), None)
            near = closest(name, known) if call is None else f"; did you mean {call}?"
            raise ArgumentError(f"{where}: {name} is no argument{near} It has {', '.join(known)}.")
