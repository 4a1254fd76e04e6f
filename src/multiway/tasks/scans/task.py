"""What the tasks on scans share: options of the command line, sources, checks, and batches that fit."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from multiway.config import Plain
from multiway.data.matching import Far, far_levels
from multiway.data.samples import Prepared, Samples
from multiway.data.sources.scans.arrays import Arrays
from multiway.data.sources.scans.cases import Cases, Scans
from multiway.data.sources.scans.checking import check_scans, describe_scans
from multiway.data.sources.scans.intensity import Spacings, find_far, warn_of_spacings
from multiway.data.sources.scans.loading import Source
from multiway.data.sources.scans.volume import Array, Volume
from multiway.data.sources.tables import pair_of, source_name
from multiway.tasks.protocol import Settled
from multiway.tasks.run import Run
from multiway.tasks.sample_candidate import Basis
from multiway.tasks.sample_task import Candidates, SampleKind, name_models
from multiway.training.memory import fit_batches


def label_source(source: object) -> str:
    """The file, or that there are arrays."""
    return source_name(source) if isinstance(source, str | Path) else "arrays in memory"


def scan_kind(**parts: Any) -> SampleKind:
    """Scans, as samples; parts that are given stand above these."""
    usual = {"label": label_source, "describe": describe_scans, "checks": lambda config: (check_scans,)}
    return SampleKind(**{**usual, **parts})


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


def in_arrays(source: object, *, masks: bool = False) -> Source:
    """A path or what was read as it is; a pair in memory as volumes with classes, or with masks."""
    if isinstance(source, str | Path | Arrays | Samples):
        return source
    x, y = pair_of(source)
    return Arrays(x=x, masks=y) if masks else Arrays(x=x, y=y)


def warn_of_other_voxels(cases: Cases, trained: Spacings | None) -> None:
    """Warn once where later scans have larger or smaller voxels than those of the training."""
    warn_of_spacings({name: cases.inputs.spacing(row) for row, name in enumerate(cases.names["case"])}, trained)
