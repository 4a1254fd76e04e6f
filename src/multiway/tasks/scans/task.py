"""What the tasks on scans share once they are read: batches that fit, and what lies far outside the training."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from torch import nn

from multiway.config import Plain
from multiway.data.matching import Far, far_levels
from multiway.data.samples import Prepared
from multiway.data.sources.scans.cases import Scans
from multiway.data.sources.scans.intensity import find_far
from multiway.data.sources.scans.volume import Array, Volume
from multiway.tasks.options import RunConfig
from multiway.tasks.protocol import NETWORK
from multiway.tasks.run import Run
from multiway.tasks.scans.encode import ScanState
from multiway.training.memory import fit_batches

ConfigT = TypeVar("ConfigT", bound=RunConfig)


def scan_parts(
    build: Callable[..., nn.Module],
    by_steps: Sequence[str],
    intensities: Callable[[Prepared[Scans, Any]], Iterable[Array]],
    seen: tuple[str, str],
    *,
    names: Callable[[Any, Any], Sequence[str]] = lambda config, state: (NETWORK, *(config.baselines or ())),
) -> Plain:
    """Parts of a task on scans, of which few fit into memory at once.

    build, by_steps: Its models, and which of them are trained by steps.
    intensities: Values of each prepared scan, as they are kept for the models.
    seen: What a network sees at once, as messages call it, and the field of the state with its sizes.
    names: The models of a run.
    """

    def find_far_scored(run: Run, prepared: Prepared[Scans, Any]) -> Sequence[Far]:
        """Intensities of another unit, counted over all scans; another spacing is said as they are read."""
        return far_levels(intensities(prepared), run.state.scale.level, prepared.raw.word)

    def fit_to_memory(config: ConfigT, state: ScanState, *, progress: bool = False) -> ConfigT:
        """Batches that fit into memory, where no size is given."""
        trained = [name for name in names(config, state) if name in by_steps]
        word, sizes = seen
        shape = (state.channels, *getattr(state, sizes))
        return fit_batches(
            config, lambda: [build(config, state, name) for name in trained], shape, word, progress=progress
        )

    return {
        "build": build,
        "names": names,
        "by_steps": tuple(by_steps),
        "sampled": 8,
        "cautions": list_cautions,
        "far": find_far_scan,
        "far_scored": find_far_scored,
        "settle": fit_to_memory,
    }


def list_cautions(run: Run) -> list[str]:
    """How much of the scans was cut off, where some was."""
    return [note for note in run.facts.get("notes", ()) if note.startswith("size ")]


def find_far_scan(run: Run, later: Volume) -> Sequence[Far]:
    """Intensities and voxels of another unit than those of the training, in one prepared scan."""
    return find_far(later.values, later.spacing, run.state.scale, run.state.spacings)
