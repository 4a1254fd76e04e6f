"""What the tasks on scans share: options of the command line, sources, checks, and batches that fit."""

import abc
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from multiway.config import Plain
from multiway.data.checking import Hook
from multiway.data.matching import Far, far_levels
from multiway.data.samples import Prepared, Samples
from multiway.data.sources.scans.arrays import Arrays
from multiway.data.sources.scans.cases import Cases, Scans
from multiway.data.sources.scans.checking import check_scans, describe_scans
from multiway.data.sources.scans.intensity import Spacings, find_far, warn_of_spacings
from multiway.data.sources.scans.loading import Source
from multiway.data.sources.scans.volume import Array, Volume
from multiway.data.sources.tables import pair_of
from multiway.tasks.encoded_task import EncodedTask
from multiway.tasks.options import RunConfig, numbers, read_names
from multiway.tasks.protocol import Option
from multiway.tasks.run import Run
from multiway.tasks.scans.encode import ScanState
from multiway.training.memory import fit_batches

SCANS = (
    Option(name="patient", field="read.patient", help="Column of the patient; splits keep a patient's scans together."),
    Option(
        name="size",
        field="read.size",
        read=numbers(int, 3),
        help="Voxels to crop or pad to, about the centre: 64,64,64.",
    ),
    Option(
        name="spacing",
        field="read.spacing",
        read=numbers(float, 3),
        help="Millimetres per voxel to resample to: 1,1,1.",
    ),
    Option(
        name="resample_to",
        field="read.resample_to",
        read=numbers(int, 3),
        help="Voxels to stretch or shrink to: 28,28,28.",
    ),
    Option(name="orientation", field="read.orientation", help="Order and direction of the axes to turn to: RAS."),
    Option(
        name="window",
        field="read.window",
        read=numbers(float, 2),
        help="Lowest and highest intensity that are told apart: -100,300.",
    ),
    Option(
        name="axes",
        field="read.axes",
        read=read_names,
        help="Names of the three axes of arrays without an affine.",
    ),
    Option(
        name="keep_going",
        commands=("predict",),
        is_flag=True,
        help="Go on after a scan that cannot be read, and list those.",
    ),
    Option(
        name="cases",
        commands=("explain",),
        read=read_names,
        help="Scans to explain, by name, separated by commas; a few if not given.",
    ),
)
"""Options of the command line for scans, of classification and segmentation alike."""

ConfigT = TypeVar("ConfigT", bound=RunConfig)
StateT = TypeVar("StateT", bound=ScanState)


class ScanTask(EncodedTask[ConfigT, Scans, StateT], Generic[ConfigT, StateT]):
    """Answers to scans, of which few fit into memory at once."""

    sampled = 8
    seen: ClassVar[tuple[str, str]]
    """What a network sees at once, as messages call it, and the field of the state with its sizes."""

    def called(self, source: object) -> str:
        """What messages call a source."""
        return super().called(source) if isinstance(source, str | Path) else "arrays in memory"

    def described(self, samples: Cases) -> Plain:
        """Sizes, spacings, intensities."""
        return describe_scans(samples)

    def hooks(self, config: ConfigT) -> Sequence[Hook]:
        """Scans that cannot be read, or say nothing."""
        return (check_scans,)

    def cautions(self, run: Run) -> list[str]:
        """How much of the scans was cut off, where some was."""
        return [*super().cautions(run), *(note for note in run.facts.get("notes", ()) if note.startswith("size "))]

    def far(self, run: Run, later: Volume) -> Sequence[Far]:
        """Intensities and voxels of another unit than those of the training, in one prepared scan."""
        return find_far(later.values, later.spacing, run.state.scale, run.state.spacings)

    def far_scored(self, run: Run, prepared: Prepared[Scans, StateT]) -> Sequence[Far]:
        """Intensities of another unit, counted over all scans; another spacing is said as they are read."""
        return far_levels(self.intensities(prepared), run.state.scale.level, prepared.raw.word)

    @abc.abstractmethod
    def intensities(self, prepared: Prepared[Scans, StateT]) -> Iterable[Array]:
        """Values of each prepared scan, as they are kept for the models."""

    def settle(self, config: ConfigT, state: StateT, *, progress: bool = False) -> ConfigT:
        """Batches that fit into memory, where no size is given."""
        names = [name for name in self.names(config, state) if name in self.by_steps]
        word, sizes = self.seen
        shape = (state.channels, *getattr(state, sizes))
        return fit_batches(
            config, lambda: [self.build(config, state, name) for name in names], shape, word, progress=progress
        )


def in_arrays(source: object, *, masks: bool = False) -> Source:
    """A path or what was read as it is; a pair in memory as volumes with classes, or with masks."""
    if isinstance(source, str | Path | Arrays | Samples):
        return source
    x, y = pair_of(source)
    return Arrays(x=x, masks=y) if masks else Arrays(x=x, y=y)


def warn_of_other_voxels(cases: Cases, trained: Spacings | None) -> None:
    """Warn once where later scans have larger or smaller voxels than those of the training."""
    warn_of_spacings({name: cases.inputs.spacing(row) for row, name in enumerate(cases.names["case"])}, trained)
