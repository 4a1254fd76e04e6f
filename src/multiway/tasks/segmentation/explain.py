"""What a segmenter attended to: one map per mode and block, averaged over patches of test cases."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from multiway.errors import ConfigError
from multiway.explain import ModeMap, draw_maps, mode_maps, save_maps, span_labels, strongest
from multiway.files import make_folder
from multiway.tasks.answers import Answer, positions_of
from multiway.tasks.run import Run
from multiway.tasks.segmentation.encode import Examples
from multiway.tasks.segmentation.patches import cut_middle

MOST_CASES = 8
MAPS = "attention.npz"


def explain_run(run: Run, out: Path | None, cases: Sequence[str] | None) -> Answer:
    """Write the maps as arrays and PNG files; return what is strongest and the paths.

    Attention is what the network mixes, not why it decides.

    `out` is `explanation` in the run's folder, and `cases` the first eight of the test split, if not given.
    """
    if run.config.data is None:
        raise ConfigError("explain: this run has no data to explain. Use Segmenter.explain in Python.")
    later = run.task.prepare(run.config, run.task.locate(run.config.data), run.state).encoded
    lack = f"{later.source} has no case"
    names = first_of_test(run) if cases is None else cases
    maps = attention_maps(run, later.inputs[positions_of(names, later.names["case"], lack)])
    folder = run.explanation(out)
    make_folder(folder)
    save_maps(folder / MAPS, maps)
    return Answer(files=[folder / MAPS, *draw_maps(folder, maps)], notes=strongest(maps))


def first_of_test(run: Run) -> list[str]:
    """Names of some test cases."""
    cases = run.tables["cases"]
    return list(dict.fromkeys(cases["case"][cases["split"] == "test"]))[:MOST_CASES]


@torch.no_grad()
def attention_maps(run: Run, images: Examples) -> list[ModeMap]:
    """One map per mode and block, averaged over a patch of each image.

    Modes are named by the axes, with bands before them where the network has that mode, and positions by voxels.
    """
    model: Any = run.model
    if not hasattr(model, "forward_with_maps"):
        raise ConfigError("explain: the network of this run has no attention. Choose another model.name.")
    state, maps = run.state, []
    first = int(state.background)
    batch = torch.stack([cut_middle(example, state.patch, state.scale, first) for example in images])
    for layer, block in enumerate(model.forward_with_maps(batch)[1]):
        modes = dict(zip(state.axes, state.patch, strict=True))
        modes = {"bands": state.channels, **modes} if len(block) > state.num_modes else modes
        labels = [span_labels(length, mode.shape[-1]) for length, mode in zip(modes.values(), block, strict=True)]
        items = mode_maps([block], list(modes), labels, ordered=list(modes))
        maps += [dataclasses.replace(item, layer=layer) for item in items]
    return maps
