"""An extension of Griffe, which reads the reference out of the code: estimators are dataclasses, constants have values.

`bin/docs` loads it with the tools of the site, so it imports nothing of this repository.
"""

import ast
from typing import Any

import griffe

ESTIMATOR = "multiway.tasks.estimator.estimator"


class Signatures(griffe.Extension):
    """Lets Griffe write the constructor of what `@estimator` stands over; shows the value of a named default."""

    def on_class_instance(self, *, cls: griffe.Class, **kwargs: Any) -> None:
        for decorator in cls.decorators:
            if decorator.callable_path == ESTIMATOR:
                decorator.value = griffe.ExprName("dataclasses.dataclass")

    def on_function(self, *, func: griffe.Function, loader: griffe.GriffeLoader, **kwargs: Any) -> None:
        for parameter in func.parameters:
            if isinstance(parameter.default, griffe.ExprName | griffe.ExprAttribute):
                parameter.default = _value(parameter.default, loader) or parameter.default


def _value(name: griffe.ExprName | griffe.ExprAttribute, loader: griffe.GriffeLoader) -> str | None:
    """What a constant of the package is, where it is a literal."""
    try:
        written = str(loader.modules_collection[name.canonical_path].value)
        return repr(ast.literal_eval(written))
    except (KeyError, AttributeError, ValueError, SyntaxError, griffe.AliasResolutionError):
        return None
