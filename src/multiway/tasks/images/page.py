"""What the report of a run on images says: errors, calibration, and what single images were named by."""

from collections.abc import Iterator, Sequence

import numpy as np

from multiway.explain.gradients import LEVELS
from multiway.explain.planes import overlay
from multiway.report import text
from multiway.report.attention import MAX_SIDE, colour_png, grey_png, palette_png
from multiway.report.diagnostics import density_chart, spread_chart
from multiway.report.sections import Images, PagePart, Picture, Section, Text
from multiway.tasks import pages
from multiway.tasks.images.explain import METHODS, Seen, explain_named, method_of, telling_images
from multiway.tasks.lifecycle import if_there
from multiway.tasks.page_parts import add_headings
from multiway.tasks.run import Run
from multiway.tasks.target_page import class_page
from multiway.training.validation import matrices_of

MOST = 6
"""Charts of either kind."""

SUBJECT = pages.Subject(
    kicker="Report on images",
    rows="images",
    setting=lambda run: {
        "Images": " × ".join(map(str, run.state.sizes)),
        "Channels": str(run.state.channels),
        "Classes": str(len(run.state.classes)),
        "Model": run.config.model_name,
        **({"Teacher": run.config.distill.teacher} if run.config.distill else {}),
    },
    interval="over images (bootstrap)",
)


def image_parts(runs: Sequence[Run]) -> Iterator[PagePart]:
    """Images with what they were named by, as far as the data are still there."""
    run, chosen = runs[0], telling_images(runs[0])
    images = if_there(lambda: explain_named(run, [name for _, name in chosen])) or []
    headings = {name: heading for heading, name in chosen}
    content: list[Section] = [Text(words="Images need the data, which could not be reread.")]
    if images:
        pictures: dict[str, list[Picture]] = {heading: [] for heading, _ in chosen}
        for image in images:
            pictures[headings[image.name]].append(_picture(image))
        content = list(add_headings((heading, Images(pictures=own)) for heading, own in pictures.items()))
    yield PagePart(
        id="images",
        title="Images",
        content=content,
        side=[
            "On the left a test image, on the right the same in grey with what spoke for the class that was named.",
            ("cool-warm", METHODS[method_of(run)]),
        ],
    )


def weights_parts(runs: Sequence[Run]) -> Iterator[PagePart]:
    """The weights of the kept epoch that a config names, and how their spread came about."""
    run, pattern = runs[0], runs[0].config.weights
    if pattern is None:
        return
    log = [row for row in (run.folder.read_log() if run.folder else []) if row.get("watched")]
    kept = [*matrices_of(run.model, pattern).items()][:MOST]
    epochs = [float(row["epoch"]) for row in log]
    content = [density_chart(name, weight.cpu().numpy()) for name, weight in kept]
    content += [spread_chart(name, epochs, [row["watched"][name] for row in log]) for name, _ in kept if log]
    side = [
        "The weights of the kept epoch: their density, and that of a normal distribution of the same spread.",
        "By epoch: their median, half of them in the dark band and nine tenths in the light one.",
    ]
    yield PagePart(id="weights", title="Weights", side=side, content=content)


def _picture(item: Seen) -> Picture:
    """The image itself, then what explains it, on a small grey copy whose colours are not those of the map."""
    pixels, sure = item.pixels, text.percent(100 * item.probability, 0)
    image = grey_png(pixels[..., 0]) if pixels.shape[2] == 1 else colour_png(pixels)
    grey = np.rint(pixels.mean(axis=2)).astype(np.uint8)
    step = -(-max(grey.shape) // MAX_SIDE)
    explained = [grey_png(grey[::step, ::step]), palette_png(*overlay("gradients", item.attribution, LEVELS))]
    words = f"Named {item.predicted} with {sure}" + ("" if item.is_right else f"; it is {item.label}")
    return Picture(item.name, [image], words, explained)


PAGE = class_page(SUBJECT, image_parts, weights_parts)
