"""An extension of Griffe, which reads the reference out of the code: estimators have arguments, constants values.

`bin/docs` loads it with the tools of the site, so it imports nothing of this repository: `docs.build.site` writes the
arguments of estimators, which come from the settings of their tasks, beside the pages.
"""

import ast
import json
from pathlib import Path
from typing import Any

import griffe

ARGUMENTS = Path(__file__).parents[2] / "build" / "arguments.json"


class Signatures(griffe.Extension):
    """Gives estimators their constructor and what is said of its arguments; shows the value of a named default."""

    def __init__(self) -> None:
        self.estimators = json.loads(ARGUMENTS.read_text()) if ARGUMENTS.is_file() else {}

    def on_class_instance(self, *, cls: griffe.Class, **kwargs: Any) -> None:
        if cls.path in self.estimators:
            entry = self.estimators[cls.path]
            cls.docstring = griffe.Docstring(entry["words"], parent=cls, parser="google")
            parameters = (
                griffe.Parameter(name, annotation=kind, kind=griffe.ParameterKind.keyword_only, default=default)
                for name, (kind, default) in entry["arguments"].items()
            )
            own = griffe.Function("__init__", parameters=griffe.Parameters(*parameters), parent=cls)
            cls.set_member("__init__", own)

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
