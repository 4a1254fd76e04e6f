"""Maps kept as arrays and plain text, drawn as PNG figures, and the folder that holds both."""

import dataclasses
import json
import math
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from multiway.errors import RunError, ShapeError, in_a_line
from multiway.explain.maps import ModeMap
from multiway.files import make_folder, write_arrays, write_with
from multiway.lazy import load_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MAX_BYTES = 2_000_000_000
_INDEX = "index"
_INDEXED = tuple(field.name for field in dataclasses.fields(ModeMap) if field.name != "weights")
# What zip, numpy and JSON raise on a file that is missing, damaged or not ours.
_DAMAGE = (
    *(OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, MemoryError),
    *(zipfile.BadZipFile, zlib.error),
)


def save_maps(path: Path, maps: Sequence[ModeMap]) -> None:
    """Write maps atomically. Labels stand in one JSON text; no name from data becomes a name in the file.

    Raises:
        RunError: The file cannot be written.
    """
    index = [{name: getattr(item, name) for name in _INDEXED} for item in maps]
    arrays: dict[str, Any] = {
        f"weights_{number:04d}": item.weights.astype(np.float32) for number, item in enumerate(maps)
    }
    arrays[_INDEX] = np.frombuffer(json.dumps(index).encode("ascii"), np.uint8)
    write_arrays(path, arrays)


def load_maps(path: Path) -> list[ModeMap]:
    """Read what `save_maps` wrote; weights come back as float64, rounded to float32.

    Raises:
        RunError: The file is missing, damaged, or claims to be larger than it is.
    """
    try:
        _check_sizes(path)
        with np.load(path, allow_pickle=False) as archive:
            index = json.loads(archive[_INDEX].tobytes())
            return [_read(entry, archive[f"weights_{number:04d}"]) for number, entry in enumerate(index)]
    except _DAMAGE as error:
        reason = in_a_line(error) or type(error).__name__
        raise RunError(f"{path} is not a readable file of attention maps: {reason}. Explain the run again.") from error


def _check_sizes(path: Path) -> None:
    """Compare the size that each array's header declares with the bytes that are there."""
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > MAX_BYTES:
            raise ValueError(f"it unpacks to more than {MAX_BYTES:,} bytes")
        for member in archive.infolist():
            with archive.open(member) as file:
                version = np.lib.format.read_magic(file)
                read_header = {
                    (1, 0): np.lib.format.read_array_header_1_0,
                    (2, 0): np.lib.format.read_array_header_2_0,
                }[version]
                shape, _, dtype = read_header(file)
                if math.prod(shape) * dtype.itemsize != member.file_size - file.tell():
                    raise ValueError(f"{member.filename} declares {shape} of {dtype} but holds other bytes")


def _read(entry: dict[str, Any], weights: Any) -> ModeMap:
    return ModeMap(
        mode=str(entry["mode"]),
        query_labels=tuple(str(label) for label in entry["query_labels"]),
        key_labels=tuple(str(label) for label in entry["key_labels"]),
        weights=np.asarray(weights, np.float64),
        layer=None if entry["layer"] is None else int(entry["layer"]),
        num_samples=int(entry["num_samples"]),
        sample=str(entry["sample"]),
        ordered=bool(entry["ordered"]),
    )


def new_figure(width: float, height: float, dpi: int) -> "Figure":
    """An empty figure of a size in inches, to be drawn off screen."""
    load_extra("matplotlib", "Drawing figures", "explain")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=dpi, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


MAX_LABELS = 40
MAX_LABEL_LENGTH = 32


def plot_mode_map(item: ModeMap, *, head: int | None = None) -> "Figure":
    """Draw one map as a heat map with its labels.

    Args:
        item: The map.
        head: Which head; `None` for the mean over heads.

    Raises:
        ShapeError: The map has no such head.
        ConfigError: matplotlib is not installed.
    """
    if head is not None and not 0 <= head < item.num_heads:
        raise ShapeError(
            f"plot_mode_map: head must be one of the map's. Got head={head} for {item.num_heads} heads; count from 0."
        )
    queries, keys = item.weights.shape[1:]
    cell = max(0.12, min(0.35, 7 / max(queries, keys)))
    figure = new_figure(cell * keys + 2.6, cell * queries + 1.9, dpi=150)
    axes = figure.add_subplot()
    weights = item.head_mean() if head is None else item.weights[head]
    image = axes.imshow(weights, cmap="Blues", vmin=0, interpolation="nearest", aspect="equal")
    for axis, labels in ((axes.yaxis, item.query_labels), (axes.xaxis, item.key_labels)):
        step = int(np.ceil(len(labels) / MAX_LABELS)) or 1
        axis.set_ticks(np.arange(0, len(labels), step), [_short(label) for label in labels[::step]])
    axes.tick_params(axis="both", labelsize=7, length=2)
    axes.tick_params(axis="x", rotation=90)
    axes.set_ylabel("query", fontsize=8)
    axes.set_xlabel("key", fontsize=8)
    axes.set_title(_title(item, head), fontsize=9, loc="left")
    bar = figure.colorbar(image, ax=axes, fraction=0.04, pad=0.02)
    bar.ax.tick_params(labelsize=7)
    return figure


def save_mode_map(path: Path, item: ModeMap, *, head: int | None = None) -> None:
    """Write the figure of one map as a PNG, atomically.

    Raises:
        ShapeError: The map has no such head.
        RunError: The file cannot be written.
    """
    figure = plot_mode_map(item, head=head)
    write_with(path, lambda temporary: figure.savefig(temporary, format="png"))


def _short(label: str) -> str:
    """Keep printable characters only, and no dollar sign: it would start a formula."""
    shown = "".join(character if character.isprintable() else "\ufffd" for character in label)
    shown = shown if len(shown) <= MAX_LABEL_LENGTH else shown[: MAX_LABEL_LENGTH - 1] + "…"
    return shown.replace("$", r"\$")


def _title(item: ModeMap, head: int | None) -> str:
    layer = "all layers" if item.layer is None else f"layer {item.layer + 1}"
    which = "mean over heads" if head is None else f"head {head + 1}"
    parts = [f"Attention over {item.mode}, {layer}, {which}", item.sample]
    lines = "\n".join(part for part in parts if part).split("\n")
    return "\n".join(line[:90] for line in lines).replace("$", r"\$")


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
