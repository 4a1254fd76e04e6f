"""Validations shown in TensorBoard or trackio while a run trains, through Accelerate's trackers."""

import contextlib
import io
import warnings
from collections.abc import Iterator
from typing import Any

from multiway.config import leaves
from multiway.lazy import load_extra
from multiway.training.config import TrainingConfig
from multiway.training.run_folder import RunFolder

PROJECT = "multiway"


def check_tracker(config: TrainingConfig) -> None:
    """Whether the tracker of a training is installed.

    Raises:
        ConfigError: It is not.
    """
    if config.track is not None:
        _library(config.track)


class Tracker:
    """A callback that shows the numbers of each validation and prints nothing.

    TensorBoard's files lie in the folder of the run; trackio shows the run under its name in the project `multiway`.
    """

    def __init__(self, name: str, run: RunFolder) -> None:
        from accelerate.tracking import TensorBoardTracker, TrackioTracker

        self._library = _library(name)
        own = run.path.name if run.path == run.root else f"{run.root.name}-{run.path.name}"
        with _quietly():
            self._shown = (
                TensorBoardTracker(own, run.root / "tensorboard")
                if name == "tensorboard"
                else TrackioTracker(PROJECT, name=own, embed=False, resume="allow")
            )
            self._shown.start()

    def log(self, values: dict[str, Any], step: int | None = None) -> None:
        """Show a validation."""
        named = {
            name: value[0] if isinstance(value, list) and len(value) == 1 else value
            for name, value in leaves(values).items()
        }
        with _quietly():
            self._shown.log({name: value for name, value in named.items() if isinstance(value, int | float)}, step=step)

    def finish(self) -> None:
        """Write what is left."""
        with _quietly():
            self._shown.finish()
            if self._library.__name__ == "trackio":
                self._library.finish()  # or it ends the run again as Python exits, and says so


def _library(name: str) -> Any:
    with _quietly():
        return load_extra(name, f"--track {name}", name)


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Without what a tracker prints and warns of as it begins; standard output is for answers."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
