"""What every estimator shares: parameters and config, fit, save and load, in scikit-learn's manners."""

import abc
import functools
import inspect
import operator
import types
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, Union, get_args, get_origin

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from multiway import hub
from multiway.config import Plain, Setting, merge, nest, settings_in
from multiway.data import datasets
from multiway.data.samples import Array
from multiway.data.targets import label_cells, read_labels
from multiway.errors import ELSEWHERE, ConfigError, DataError, MultiwayError, NotFittedError, check_names, closest, warn
from multiway.metrics.classes import MIDDLE, predicted_classes
from multiway.metrics.regression import r2
from multiway.tasks import lifecycle as runs
from multiway.tasks.hub import save_with_card
from multiway.tasks.known import settings_for
from multiway.tasks.options import Spelling
from multiway.tasks.protocol import NETWORK
from multiway.tasks.registry import task_of
from multiway.tasks.run import Run, save_run
from multiway.tasks.settings import settings_of
from multiway.tasks.targets import has_several

ALL = "all"
"""Name of a split that holds every sample of other data."""
OWN = {
    "settings": 'Other fields of the config, nested: `{{"training": {{"patience": 3}}}}`; see `{config}`.',
    "progress": "Show a bar or lines on stderr.",
}
"""Arguments that every estimator has, besides those that are settings of its task."""


def _in_python(method: Callable[..., Any]) -> Callable[..., Any]:
    known = [name for name in inspect.signature(method).parameters if name != "self"]

    @functools.wraps(method)
    def called(self: Any, *args: Any, **named: Any) -> Any:
        if not inspect.getfullargspec(method).varkw:
            others = {} if named.keys() <= {*known} else _arguments(type(self))
            check_names(f"{type(self).__name__}.{method.__name__}", named, known, others)
        try:
            return method(self, *args, **named)
        except MultiwayError as error:
            places = {place: name for name, place in self.places.items()}
            spelling = Spelling(options=settings_of(self.task).options, arguments=places, own=known)
            error.args = (spelling.of(error.args),)
            raise

    return called


def _arguments(cls: type) -> dict[str, Collection[str]]:
    """Arguments of an estimator, and of its methods."""
    methods = inspect.getmembers(cls, inspect.isfunction)
    own = {name: inspect.signature(method).parameters for name, method in methods if not name.startswith("_")}
    return {cls.__name__: inspect.signature(cls).parameters, **own}


def _bare(kind: Any) -> Any:
    """A type without what a config holds its values to."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _bare(parts[0])
    if origin in (Union, types.UnionType):
        return functools.reduce(operator.or_, map(_bare, parts))
    return origin[tuple(map(_bare, parts))] if parts and origin is not Literal else kind


def _describe(setting: Setting) -> str:
    """What an argument is, and what the config has where it is None."""
    is_open = setting.usual is None and setting.default is not None
    return f"{setting.help} If not given, {setting.default}." if is_open else setting.help


class Estimator:
    """A task as an estimator: the settings of its config that have a flag are arguments, `fit` leaves `run_`.

    `predict` gives one value per sample in the order of the data, `evaluate` a frame of scores, `explain` what the
    task's explanation holds, and `scores_` the frame of the run's own scores.
    """

    task: ClassVar[str]
    kind: ClassVar[str] = "none"
    """Of scikit-learn's kinds of estimators: classifier, regressor, or none."""
    first: ClassVar[str] = ""
    """The argument that can be given without its name."""
    apart: ClassVar[tuple[str, ...]] = ("read.",)
    """Beginnings of fields that are no arguments: what is in memory needs no reading."""
    places: ClassVar[dict[str, str]]
    """Place in the config of each argument: {"epochs": "training.epochs"}."""

    def __init_subclass__(cls, **more: Any) -> None:
        """Take the arguments from the config; errors of all methods say what Python writes."""
        super().__init_subclass__(**more)
        for name, method in [*vars(cls).items()]:
            if inspect.isfunction(method) and not name.startswith("_"):
                setattr(cls, name, _in_python(method))
        if not hasattr(cls, "task"):
            return
        config = settings_of(cls.task).config
        settings = {each.argument: each for each in settings_in(config) if not each.field.startswith(cls.apart)}
        settings = {name: settings[name] for name in sorted(settings, key=lambda name: name != cls.first) if name}
        cls.places = {name: setting.field for name, setting in settings.items()}
        parameters = [
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD if name == cls.first else inspect.Parameter.KEYWORD_ONLY,
                default=setting.usual,
                annotation=_bare(setting.kind | None if setting.usual is None else setting.kind),
            )
            for name, setting in settings.items()
        ]
        own = {"settings": (None, dict[str, Any] | None), "progress": (False, bool)}
        parameters += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for name, (default, kind) in own.items()
        ]
        cls.__signature__ = inspect.Signature(parameters)
        notes = {name: _describe(setting) for name, setting in settings.items()}
        notes |= {name: words.format(config=config.__name__) for name, words in OWN.items()}
        listed = "\n".join(f"    {name}: {words}" for name, words in notes.items())
        cls.__doc__ = f"{inspect.cleandoc(vars(cls).get('__doc__') or '')}\n\nArgs:\n{listed}\n"

    __signature__: ClassVar[inspect.Signature]

    def __init__(self, *values: Any, **named: Any) -> None:
        known = self.__signature__.parameters
        check_names(type(self).__name__, named, known, {} if named.keys() <= {*known} else _arguments(type(self)))
        bound = self.__signature__.bind(*values, **named)
        bound.apply_defaults()
        vars(self).update(bound.arguments)

    def __getattr__(self, name: str) -> Any:
        near = closest(name, dir(type(self))) if name in ELSEWHERE else "."
        raise AttributeError(f"{type(self).__name__} has no attribute {name}{near}", name=name, obj=self)

    def config(self, known: object = None) -> Any:
        """The arguments as the config of a run; an argument that is None keeps its usual value.

        `known` names a known data set, which brings settings of its own; other values bring none.
        """
        task = task_of(self.task)
        settings = settings_for(known, self.task)
        for name, place in self.places.items():
            value = getattr(self, name)
            if value is not None:
                settings = merge(settings, nest(place, value))
        return task.config.parse(merge(settings, dict(self.settings or {})), type(self).__name__)

    def _fit(self, source: object, config: Any) -> Self:
        self._take(runs.fit_in_memory(task_of(self.task), config, source, progress=self.progress))
        return self

    def _take(self, run: Run) -> None:
        """Hold a run; more attributes are set by the task's estimator."""
        self.run_ = run
        self.scores_ = pd.DataFrame(run.scores)

    def _prepared(self, data: object) -> Any:
        """Other data, under what training learnt."""
        run = self._run()
        return run.task.prepare(run.config, locate(data), run.state)

    def _scores_of(self, data: object) -> pd.DataFrame:
        """Every score on other data, with intervals, and those of the baselines."""
        run = self._run()
        later = run.prepare_scored(locate(data))
        return pd.DataFrame(run.task.score(run, run.task.predict(run, later, ALL), ALL))

    def _guarded(self, later: Any, source: str, far: bool) -> None:
        """Warn of data that lie far outside the training; refuse those that lie much too far, unless told otherwise."""
        tell_far(f"{source}: {words}" for words in self._run().check_far(later, source, far=far))

    def _run(self) -> Run:
        if not hasattr(self, "run_"):
            raise NotFittedError(f"{type(self).__name__}: call fit before this, or load a saved run.")
        return self.run_

    def save(self, path: str | Path) -> None:
        """Write a run folder that the command line can use.

        Raises:
            RunError: The path exists, or the estimator was itself loaded.
        """
        save_run(self._run(), Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Take up a run that `save` or the command line wrote.

        Raises:
            RunError: It is no finished run.
            ConfigError: It is a run of another task.
        """
        run = runs.load(Path(path))
        if run.task.name != cls.task:
            raise ConfigError(f"{cls.__name__}.load: {path} is a run of {run.task.name}, not of {cls.task}.")
        new = cls(**_parameters(run.config, cls.places))
        new._take(run)
        return new

    def save_pretrained(self, path: str | Path) -> None:
        """Write a run folder with a model card: data, split, scores and baselines."""
        save_with_card(self._run(), Path(path))

    def push_to_hub(self, name: str, *, private: bool = True) -> None:
        """Send the run with its card to the repository of that name, which is made if it is not there."""
        run = self._run()
        kept = run.folder
        try:
            hub.send(functools.partial(save_with_card, run), name, private=private)
        finally:
            run.folder = kept  # not the scratch, which is gone

    @classmethod
    def from_pretrained(cls, name: str | Path) -> Self:
        """Take up a run from a folder, or from the repository of that name."""
        return cls.load(hub.find_folder(name, "run"))

    def get_params(self, deep: bool = True) -> Plain:
        """Constructor arguments by name."""
        return {name: getattr(self, name) for name in sorted(self.__signature__.parameters)}

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments.

        Raises:
            ArgumentError: A name is unknown.
        """
        check_names(type(self).__name__, params, sorted(self.__signature__.parameters))
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        known, given = self.__signature__.parameters, self.get_params()
        changed = {name: value for name, value in given.items() if not _same(value, known[name].default)}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "run_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type=self.kind if self.kind in ("classifier", "regressor") else None,
            target_tags=TargetTags(required=self.kind in ("classifier", "regressor")),
            classifier_tags=ClassifierTags() if self.kind == "classifier" else None,
            regressor_tags=RegressorTags() if self.kind == "regressor" else None,
        )


class Classifier(Estimator, abc.ABC):
    """An estimator of classes: `fit` leaves `classes_`, in the order of the probabilities."""

    kind = "classifier"
    classes_: Array

    @abc.abstractmethod
    def predict_proba(self, X: object, model: str | None = None, *, far: bool = False) -> NDArray[np.float64]:
        """Probabilities `(samples, classes)`, in the order of `classes_`."""

    def predict(self, X: object, model: str | None = None, *, far: bool = False) -> Array:
        """Class of each sample: above one half for two classes, else the most probable.

        Of several labels columns of 0 and 1, in the order of `classes_`.

        With `far`, data that lie far outside the training are answered too, with a warning.
        """
        return self._named(self.predict_proba(X, model, far=far))

    def _named(self, probabilities: NDArray[np.float64]) -> Array:
        if has_several(self._run().state):
            return np.asarray(probabilities > MIDDLE, dtype=np.int64)
        places = predicted_classes(probabilities)
        chosen: Array = self.classes_[places]
        return chosen

    def score(self, X: object, y: object) -> float:
        """Share of samples whose class is right, or all of whose labels are."""
        if has_several(self._run().state):
            truth, _ = read_labels(label_cells(y), tuple(map(str, self.classes_)), "y", "samples")
            return float((self.predict(X) == truth).all(1).mean())
        return float(np.mean(self.predict(X) == np.asarray(y)))


class Regressor(Estimator, abc.ABC):
    """An estimator of numbers, one per sample."""

    kind = "regressor"

    @abc.abstractmethod
    def predict(self, X: object, model: str | None = None, *, far: bool = False) -> NDArray[np.float64]:
        """Number of each sample, in the units of the target."""

    def score(self, X: object, y: object) -> float:
        """R² of the predictions; 0 where the targets do not vary."""
        return r2(np.asarray(y, np.float64), self.predict(X)) or 0.0


def tell_far(notes: Iterable[str]) -> None:
    """Warn of what lies far outside the training."""
    for words in notes:
        warn(f"{words}.")


def classes_as_given(names: Sequence[str]) -> Array:
    """Classes of a stored run as a user had them: whole numbers and truth values are no words."""
    as_given = {"False": False, "True": True}
    numbers = all(name.lstrip("-").isdigit() for name in names)
    return np.array([int(name) if numbers else as_given.get(name, name) for name in names])


def locate(source: object) -> Any:
    """Path of a file, or of the known data set of that name; data in memory as they are."""
    return datasets.locate(str(source)) if isinstance(source, str | Path) else source


def place_of(index: int, count: int) -> int:
    """Place of one of so many samples; a negative index counts from the end."""
    if not -count <= index < count:
        raise DataError(f"index is the place of one of {count} samples, from 0. Got {index}.")
    return index % count


def own_score(scores: pd.DataFrame, metric: str, where: Mapping[str, str] | None = None, model: str = NETWORK) -> float:
    """A model's value in a frame of scores, NaN where it is undefined; `where` names more columns."""
    wanted = pd.Series({"model": model, "metric": metric, **(where or {})})
    rows = scores[(scores[wanted.index] == wanted).all(axis=1)]
    return float(rows["value"].astype(float).iloc[0])


def _parameters(config: Any, places: dict[str, str]) -> Plain:
    """Constructor arguments that give the same config, without its data."""
    plain = config.plain()
    plain.pop("data", None)
    found = {name: _pop(plain, place.split(".")) for name, place in places.items()}
    given = {name: value for name, value in found.items() if value is not None}
    return {**{name: tuple(v) if isinstance(v, list) else v for name, v in given.items()}, "settings": plain}


def _pop(plain: Plain, path: list[str]) -> Any:
    for part in path[:-1]:
        plain = plain[part] or {}
    return plain.pop(path[-1], None)


def _same(value: object, default: object) -> bool:
    return type(value) is type(default) and value == default
