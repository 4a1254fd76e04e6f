"""What the report of a run on images says: errors, calibration, and what single images were named by."""

from collections.abc import Iterator, Sequence

from multiway.report import text
from multiway.report.sections import Images, Part, Picture, Section, Text
from multiway.tasks import pages
from multiway.tasks.class_page import ClassPage
from multiway.tasks.images.explanation import Seen, layers_of, seen, telling
from multiway.tasks.images.weights import weights_part
from multiway.tasks.page_parts import NOT_ATTRIBUTION, headed
from multiway.tasks.run import Run
from multiway.tasks.targets import WORDS

SUBJECT = pages.Subject(
    kicker="Report on images", rows="images", selected_by=lambda run: "lowest validation loss", models=WORDS,
    setting=lambda run: {
        "Images": " × ".join(map(str, run.state.sizes)), "Channels": str(run.state.channels),
        "Classes": str(len(run.state.classes)), "Model": run.config.model_name,
        **({"Teacher": run.config.distill.teacher} if run.config.distill else {}),
    },
    interval="over images (bootstrap)",
)  # fmt: skip


def parts(runs: Sequence[Run]) -> Iterator[Part]:
    """Images with their gradients, as far as the data are still there."""
    chosen = telling(runs[0])
    found = seen(runs[0], [name for _, name in chosen])
    headings = {name: heading for heading, name in chosen}
    groups = {heading: [each for each in found if headings[each.name] == heading] for heading, _ in chosen}
    gone = Text(words="Images need the data, which could not be read again.")
    yield Part(
        id="images", title="Images", content=[gone] if not found else list(_views(groups)),
        side=[
            "Test images, and below each what spoke for the class that was named.",
            ("cool-warm", "integrated gradients: against that class, for it"), NOT_ATTRIBUTION,
        ],
    )  # fmt: skip
    if runs[0].config.weights is not None:
        yield weights_part(runs[0], runs[0].config.weights)


def _views(groups: dict[str, list[Seen]]) -> Iterator[Section]:
    yield from headed((heading, Images(pictures=list(map(_picture, each)))) for heading, each in groups.items())


def _picture(item: Seen) -> Picture:
    sure = text.percent(100 * item.probability, 0)
    words = f"Named {item.predicted} with {sure}" + ("" if item.is_right else f"; it is {item.label}")
    return Picture(item.name, layers_of(item), words)


PAGE = ClassPage(SUBJECT, parts)
