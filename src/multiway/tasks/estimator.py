"""What every estimator shares: parameters and config, fit, save and load, in scikit-learn's manners."""

import inspect
from pathlib import Path
from typing import Any, ClassVar, Self

import pandas as pd

from multiway.config import merge, nest
from multiway.errors import ConfigError, NotFittedError, closest
from multiway.tasks import lifecycle as runs
from multiway.tasks.registry import task_of
from multiway.tasks.run import Run


class Estimator:
    """A task as an estimator: constructor arguments stored under their own names, `fit` leaves `run_`.

    `predict` gives one value per sample in the order of the data, `evaluate` a frame of scores, `explain` what the
    task's explanation holds, and `scores_` the frame of the run's own scores.
    """

    task: ClassVar[str]
    fields: ClassVar[dict[str, str]]
    """Place in the config of each constructor argument but the last two: {"epochs": "training.epochs"}."""
    kind: ClassVar[str] = "classifier"
    """Of scikit-learn's kinds of estimators: classifier, regressor, or none."""

    run_: Run
    scores_: pd.DataFrame
    settings: dict[str, Any] | None
    progress: bool

    def config(self, known: object = None) -> Any:
        """The arguments as the config of a run; an argument that is None keeps its usual value.

        Args:
            known: Name of a known data set, which brings settings of its own; other values bring none.
        """
        task = task_of(self.task)
        settings = task.brought(known)
        for name, place in self.fields.items():
            value = getattr(self, name)
            if value is not None:
                settings = merge(settings, nest(place, value))
        return task.config.parse(merge(settings, dict(self.settings or {})), type(self).__name__)

    def _fit(self, source: Any, known: object = None) -> Self:
        self._take(runs.fitted(task_of(self.task), self.config(known), source, progress=self.progress))
        return self

    def _take(self, run: Run) -> None:
        """Hold a run; more attributes are set by the task's estimator."""
        self.run_ = run
        self.scores_ = pd.DataFrame(run.scores)

    def _run(self) -> Run:
        if not hasattr(self, "run_"):
            raise NotFittedError(f"{type(self).__name__}: call fit before this, or load a saved run.")
        return self.run_

    def save(self, path: str | Path) -> None:
        """Write a run folder that the command line can use.

        Raises:
            RunError: The path exists, or the estimator was itself loaded.
        """
        self._run().save(Path(path))

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
        new = cls(**_parameters(run.config, cls.fields))
        new._take(run)
        return new

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor arguments by name."""
        return {name: getattr(self, name) for name in sorted(_defaults(type(self)))}

    def set_params(self, **params: Any) -> Self:
        """Change constructor arguments.

        Raises:
            ConfigError: A name is unknown.
        """
        known = sorted(_defaults(type(self)))
        for name, value in params.items():
            if name not in known:
                raise ConfigError(
                    f"{type(self).__name__}: {name} is no parameter{closest(name, known)} It has {', '.join(known)}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = _defaults(type(self))
        changed = {name: value for name, value in self.get_params().items() if not _same(value, defaults[name])}
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


def _parameters(config: Any, fields: dict[str, str]) -> dict[str, Any]:
    """Constructor arguments that give the same config, without its data."""
    plain = config.plain()
    plain.pop("data", None)
    found = {name: _popped(plain, place.split(".")) for name, place in fields.items()}
    given = {name: value for name, value in found.items() if value is not None}
    return {**{name: tuple(v) if isinstance(v, list) else v for name, v in given.items()}, "settings": plain}


def _popped(plain: dict[str, Any], path: list[str]) -> Any:
    for part in path[:-1]:
        plain = plain[part]
    return plain.pop(path[-1], None)


def _defaults(cls: type) -> dict[str, Any]:
    parameters = inspect.signature(cls).parameters
    return {name: parameter.default for name, parameter in parameters.items()}


def _same(value: object, default: object) -> bool:
    return type(value) is type(default) and value == default
