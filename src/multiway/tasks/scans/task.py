"""What the tasks on scans share once they are read: batches that fit, and what lies far outside the training."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from multiway.config import Plain
from multiway.data.matching import Far, far_levels
from multiway.data.samples import Prepared
from multiway.data.sources.scans.cases import Scans
from multiway.data.sources.scans.intensity import find_far
from multiway.data.sources.scans.volume import Array, Volume
from multiway.tasks.protocol import Settled
from multiway.tasks.run import Run
from multiway.tasks.sample_candidate import Basis
from multiway.tasks.sample_task import Candidates, name_models
from multiway.training.memory import fit_batches


def scan_parts(
    candidates: Candidates, intensities: Callable[[Prepared[Scans, Any]], Iterable[Array]], seen: tuple[str, str]
) -> Plain:
    """Parts of a task on scans, of which few fit into memory at once.

    candidates: Of the task.
    intensities: Values of each prepared scan, as they are kept for the models.
    seen: What a network sees at once, as messages call it, and the field of the state with its sizes.
    """

    def find_far_scored(run: Run, prepared: Prepared[Scans, Any]) -> Sequence[Far]:
        """Intensities of another unit, counted over all scans; another spacing is said as they are read."""
        return far_levels(intensities(prepared), run.state.scale.level, prepared.raw.word)

    def fit_to_memory(config: Any, prepared: Prepared[Scans, Any], spent: float, *, progress: bool = False) -> Settled:
        """Batches that fit into memory, where no size is given."""
        (word, sizes), state, every = seen, prepared.state, candidates()
        names = [name for name in name_models(candidates, config, state) if every[name].by_steps]
        shape = (state.channels, *getattr(state, sizes))
        config = fit_batches(
            config, lambda: [every[name].build(Basis(config, state)) for name in names], shape, word, progress=progress
        )
        return Settled(config, state)

    return {
        "candidates": candidates,
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
