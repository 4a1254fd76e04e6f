"""Maps of many samples and of one: averaged and the last, kept and drawn in one folder."""

import dataclasses
from pathlib import Path

from multiway.explain.figures import save_mode_map
from multiway.explain.maps import ModeMap
from multiway.explain.storage import load_maps, save_maps
from multiway.files import make_folder


@dataclasses.dataclass(frozen=True, kw_only=True)
class Explanation:
    """Attention averaged over samples, and of the last one."""

    average: list[ModeMap]
    last: list[ModeMap]


def save_explanation(folder: Path, explanation: Explanation) -> None:
    """Write both sets of maps as arrays."""
    make_folder(folder)
    save_maps(folder / "average.npz", explanation.average)
    save_maps(folder / "last.npz", explanation.last)


def load_explanation(folder: Path) -> Explanation:
    """Read what `save_explanation` wrote."""
    return Explanation(average=load_maps(folder / "average.npz"), last=load_maps(folder / "last.npz"))


def draw_explanation(folder: Path, explanation: Explanation) -> list[Path]:
    """Write a PNG per mode and block, heads averaged."""
    paths = []
    for kind, maps in (("average", explanation.average), ("last", explanation.last)):
        for item in maps:
            path = folder / f"{kind}-{item.mode}-block{item.layer}.png"
            save_mode_map(path, item)
            paths.append(path)
    return paths
