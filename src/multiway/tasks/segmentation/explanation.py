"""What a segmenter attended to: one map per mode and block, averaged over patches of test cases."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from multiway.errors import ConfigError, closest
from multiway.explain import ModeMap, mode_maps, save_maps, save_mode_map, top_pairs
from multiway.files import make_folder
from multiway.tasks.answers import Answer
from multiway.tasks.run import Run
from multiway.tasks.segmentation.examples import Example, Examples
from multiway.tasks.segmentation.patches import cut
from multiway.tasks.segmentation.sources import read_examples

MOST_CASES = 8
MAPS = "attention.npz"


def explain_run(run: Run, out: Path | None, cases: Sequence[str] | None) -> Answer:
    """Write the maps as arrays and PNG files; return what is strongest and the paths.

    Attention is what the network mixes, not why it decides.

    Args:
        run: A finished run whose data are still there.
        out: Folder; `explanation` in the run's own if not given.
        cases: Names of cases; the first eight of the test split if not given.

    Raises:
        ConfigError: The run has no data, no such case, or a network without attention.
    """
    if run.config.data is None:
        raise ConfigError("explain: this run has no data to explain. Use Segmenter.explain in Python.")
    assert run.folder is not None
    examples = read_examples(run.task.locate(run.config.data), run.config, run.state.values)
    maps = attention_maps(run, examples, _rows(examples, cases))
    folder = out or run.folder.path / "explanation"
    make_folder(folder)
    save_maps(folder / MAPS, maps)
    paths = [folder / MAPS]
    for item in maps:
        paths.append(folder / f"{item.mode}-block{item.layer}.png")
        save_mode_map(paths[-1], item)
    strongest = [f"{item.mode}, block {item.layer}: {pair}" for item in maps for pair in top_pairs(item, 3)]
    return Answer(files=paths, notes=strongest)


@torch.no_grad()
def attention_maps(run: Run, examples: Examples, rows: Sequence[int]) -> list[ModeMap]:
    """One map per mode and block, averaged over a patch of each of some images.

    Raises:
        ConfigError: The network has no attention.
    """
    model: Any = run.model
    if not hasattr(model, "forward_with_maps"):
        raise ConfigError("explain: the network of this run has no attention. Choose another model.name.")
    batch = torch.stack([_patch(run, examples, row) for row in rows])
    return label_maps(run, model.forward_with_maps(batch)[1])


def _rows(examples: Examples, cases: Sequence[str] | None) -> list[int]:
    if cases is None:
        return examples.rows("test")[:MOST_CASES]
    for case in cases:
        if case not in examples.names:
            raise ConfigError(f"explain: no case is called {case}{closest(case, examples.names)}")
    return [examples.names.index(case) for case in cases]


def _patch(run: Run, examples: Examples, row: int) -> Tensor:
    """The patch about the middle of what the mask marks, or of the image where it marks nothing."""
    example: Example = examples.read(row)
    marked = np.argwhere(example.target >= int(examples.background))
    centre = marked.mean(0) if len(marked) else np.array(example.target.shape) / 2
    rooms = [max(size - side, 0) for size, side in zip(example.target.shape, run.state.patch, strict=True)]
    starts = [
        min(max(int(at) - side // 2, 0), room) for at, side, room in zip(centre, run.state.patch, rooms, strict=True)
    ]
    return cut(example, starts, run.state.patch, run.state.scale)[0]


def label_maps(run: Run, maps: Sequence[Sequence[Any]]) -> list[ModeMap]:
    """Name modes by the axes, with bands before them where the network has that mode, and positions by voxels."""
    found = []
    for layer, block in enumerate(maps):
        names = [*(["bands"] if len(block) > run.state.num_modes else []), *run.state.axes]
        lengths = [*([run.state.channels] if len(block) > run.state.num_modes else []), *run.state.patch]
        labels = [_spans(length, mode.shape[-1]) for length, mode in zip(lengths, block, strict=True)]
        items = mode_maps([block], names, labels, ordered=names)
        found += [dataclasses.replace(item, layer=layer) for item in items]
    return found


def _spans(length: int, count: int) -> list[str]:
    """Voxels of each position: "8-11", or "8" where a position is one voxel."""
    step = -(-length // count)
    ends = [(index * step, min((index + 1) * step, length) - 1) for index in range(count)]
    return [str(low) if high <= low else f"{low}-{high}" for low, high in ends]
