"""Maps of many samples and of one: averaged and the last, kept and drawn in one folder."""

import dataclasses
from collections.abc import Iterable
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
    return [*draw_maps(folder, explanation.average, "average-"), *draw_maps(folder, explanation.last, "last-")]


def draw_maps(folder: Path, maps: Iterable[ModeMap], prefix: str = "") -> list[Path]:
    """Write a PNG of each map, heads averaged, named by its mode and block."""
    paths = []
    for item in maps:
        mode = item.mode.replace("(", "").replace(")", "").replace(" ", "-")
        paths.append(folder / f"{prefix}{mode}-block{item.layer}.png")
        save_mode_map(paths[-1], item)
    return paths
