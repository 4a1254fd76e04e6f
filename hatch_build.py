"""Compile the optional kernels while a checkout is installed, if there is a compiler; an install never fails for them.

A wheel that is given away holds their sources alone: they are compiled for one processor.
"""

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNELS = Path("src") / "multiway" / "kernels"


class KernelHook(BuildHookInterface):  # type: ignore[type-arg]
    """Leave a library beside the sources, named after this machine."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, or say why not to whoever watches the install."""
        if self.target_name != "wheel" or version != "editable":
            return
        library = _load(Path(self.root) / KERNELS / "library.py")
        try:
            built = library.build_library()
        except library.FAILURES as error:
            self.app.display_info(f"multiway: no compiled kernels ({error}); everything runs without them")
            return
        build_data["artifacts"].append(f"/{KERNELS.as_posix()}/{built.name}")
        build_data["pure_python"] = False
        build_data["infer_tag"] = True


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("multiway_kernels_library", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
