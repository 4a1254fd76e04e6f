"""The workflows, which are imported when one is called: help and completion do without them, and without torch."""

import importlib
from typing import TYPE_CHECKING, Any


class _Workflows:
    """Stands for the package; it is no module, since libraries look into every module that there is."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module("multiway.workflows"), name)


if TYPE_CHECKING:
    from multiway import workflows as workflows
else:
    workflows = _Workflows()
