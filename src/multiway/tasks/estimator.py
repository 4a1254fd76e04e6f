"""What every estimator shares: constructor arguments as scikit-learn handles them, and the run that `fit` leaves."""

import inspect
from typing import Any, Generic, Self, TypeVar

from multiway.errors import ConfigError, NotFittedError

RunT = TypeVar("RunT")


class Estimator(Generic[RunT]):
    """Read, change and show the arguments that the constructor stores under their own names; hold the run."""

    run_: RunT

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
                raise ConfigError(f"{type(self).__name__}: {name} is no parameter; it has {', '.join(known)}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = _defaults(type(self))
        changed = {name: value for name, value in self.get_params().items() if not _same(value, defaults[name])}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def _run(self) -> RunT:
        if not hasattr(self, "run_"):
            raise NotFittedError(f"{type(self).__name__}: call fit before this, or load a saved run.")
        return self.run_


def _defaults(cls: type) -> dict[str, Any]:
    parameters = inspect.signature(cls).parameters
    return {name: parameter.default for name, parameter in parameters.items()}


def _same(value: object, default: object) -> bool:
    return type(value) is type(default) and value == default
