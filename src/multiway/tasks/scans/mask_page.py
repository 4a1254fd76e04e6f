"""What the report of a segmentation says: slices that are kept with their masks, Dice by class and case by case."""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from multiway import files
from multiway.data.samples import Array, Samples
from multiway.report import charts, text
from multiway.report.attention import grey_png, palette_png
from multiway.report.outlines import outline
from multiway.report.scales import Scale, number_ticks
from multiway.report.scores import UNDEFINED, Metric, Scores, best_rival
from multiway.report.sections import Chart, Images, PagePart, Picture, Section, Table, TableCell, Text
from multiway.tasks import pages
from multiway.tasks.run import Run
from multiway.tasks.scans.class_page import INTERVAL, TITLES, choice_of_epoch
from multiway.tasks.scans.encode import Examples
from multiway.tasks.scans.read import class_in_words
from multiway.tasks.scans.scores import Floats, Predictor, headline
from multiway.tasks.target_page import SplitPage
from multiway.training import RunFolder

OTHER = np.array([[0, 0, 0, 0], [204, 121, 167, 150]], np.uint8)
"""Nothing, and where another class is marked than the true one."""
MAX_CLASSES = 40
BY_CASE, POOLED = (
    "Dice is a mean over test cases.",
    "Pooled Dice counts all test pixels together, in the mean over classes.",
)
PERCENTS = np.linspace(0, 100, 101)
SLICES, NAMES = "slices.safetensors", "slices.json"
SHOWN = 9


def _setting(run: Run) -> dict[str, str]:
    name, _ = run.config.network(run.state.num_modes)
    return {
        "Model": name,
        "Classes": str(len(run.state.classes)),
        "Channels": str(run.state.channels),
        "Image": " × ".join(map(str, run.facts["sizes"])),
        "Patch": " × ".join(map(str, run.state.patch)),
    }


def _metrics(run: Run) -> list[Metric]:
    """The metric that decides for this run in front, and the unit of its distances."""
    named = [
        dataclasses.replace(metric, title=f"HD95 ({run.facts['distance']})") if metric.name == "hd95" else metric
        for metric in run.task.metrics(run.config)
    ]
    return sorted(named, key=lambda metric: metric.name != headline(run.state.num_modes))


SUBJECT = pages.Subject(
    order=_metrics,
    kicker="Report on masks",
    rows="cases",
    setting=_setting,
    selected_by=functools.partial(choice_of_epoch, "Dice"),
    interval=INTERVAL,
    about=[
        "Dice is a mean over the cases where it is defined.",
        "A case with nothing to find and nothing found has none; one of the two alone counts 0.",
        "HD95 is undefined where either mask is empty. Pooled Dice counts all voxels together.",
    ],
)


def _by_class(runs: Sequence[Run]) -> list[Section]:
    """The metric that decides, by class and model; nothing where there is one class."""
    run, decides, whole = runs[0], headline(runs[0].state.num_modes), SUBJECT.scores(runs)
    classes = list(dict.fromkeys(map(str, _cases_scored(run)["class"])))[:MAX_CLASSES]
    if len(classes) < 2:
        return []
    models, rows = whole.models(), list[list[TableCell | str]]()
    for name in classes:
        own = [[row for row in each.scores if (row["metric"], row["class"]) == (decides, name)] for each in runs]
        scores = Scores(own, _metrics(run), run.answer.name)
        cells = [
            TableCell(UNDEFINED if score.value is None else text.number(score.value, 3), score.spread(3))
            for score in (scores.get(model, decides) for model in models)
        ]
        rows.append([class_in_words(name), *cells])
    columns = ["Class", *(whole.name(model) for model in models)]
    return [Table(title=f"{whole.heading(decides)} by class", columns=columns, rows=rows)]


def _show_slices(run: Run) -> PagePart:
    shown = [] if run.folder is None else load_slices(run.folder)
    none = Text(words="A run that was not stored keeps no slices.")
    other = [("mask-other", "marked as another class")] if any(item.other.any() for item in shown) else []
    return PagePart(
        id="slices",
        title="Slices",
        side=[
            "Worst, middle and best test cases of the answer, at the slice that is marked most.",
            ("mask-true", "true mask"),
            ("mask-predicted", "predicted mask"),
            *other,
        ],
        content=[Images(pictures=[_picture(item) for item in shown]) if shown else none],
    )


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Shown:
    """One case: grey image, target and prediction of one slice, `(rows, columns)`, and its mean Dice."""

    case: str
    dice: float
    image: NDArray[np.uint8]
    target: NDArray[np.int16]
    predicted: NDArray[np.int16]

    @property
    def other(self) -> NDArray[np.bool_]:
        """Where another class is marked than the true one."""
        differs: NDArray[np.bool_] = self.predicted != self.target
        return differs & (self.target > 0) & (self.predicted > 0)


def _picture(item: Shown) -> Picture:
    """The plain slice with both masks outlined; what nobody labelled belongs to neither."""
    layers = [grey_png(item.image), *([palette_png(item.other.astype(np.uint8), OTHER)] if item.other.any() else [])]
    masks = {"mask-true": item.target, "mask-predicted": np.where(item.target < 0, item.target, item.predicted)}
    outlines = [(style, outline(mask)) for style, mask in masks.items()]
    remark, sizes = f"Dice {text.number(item.dice, 3)}", item.image.shape
    return Picture(item.case, layers, remark, outlines=outlines, sizes=sizes)


def _show_cases(run: Run) -> PagePart:
    """Dice of the test cases, worst to best, one line per model."""
    scores = SUBJECT.scores([run])
    colours = pages.colours_of(scores)
    dice = _cases_scored(run).groupby(["model", "case"], sort=False)["dice"].mean().dropna()
    lines = {
        scores.name(str(name)): (
            f"s{colours.get(str(name), 0)}",
            np.interp(PERCENTS, np.linspace(0, 100, len(values)), np.sort(values.to_numpy())),
        )
        for name, values in dice.groupby(level="model", sort=False)
    }
    chart = Chart(
        drawing=charts.line_drawing(
            lines,
            PERCENTS / 100,
            [f"{share:.0f} % of cases" for share in PERCENTS],
            Scale(0.0, 1.0),
            number_ticks(Scale(0.0, 100.0), 5),
            describes="Dice of the test cases from worst to best",
            x_title="share of the test cases, worst first, in percent",
        ),
        title="Dice of the test cases, worst to best",
        legend=[(name, style) for name, (style, _) in lines.items()],
    )
    side = ["How many test cases go how well; the left end are the failures."]
    return PagePart(id="cases", title="Case by case", side=side, content=[chart if lines else None])


def _cases_scored(run: Run) -> pd.DataFrame:
    """Test cases by class and model, of the classes that are scored."""
    cases = run.tables["cases"]
    return cases[(cases["split"] == "test") & cases["scored"]]


def _headline(subject: pages.Subject, run: Run) -> str:
    """How well the masks of the answer fit, compared with those of the best other candidate."""
    scores, decides = subject.scores([run]), headline(run.state.num_modes)
    own, rival = scores.get(run.answer.name, decides), best_rival(scores)
    if own.value is None:
        return ""
    other = "" if rival is None else f"; those of {scores.name_within(rival[0])} have {text.number(rival[1].number, 3)}"
    title, value = scores.heading(decides), text.number(own.number, 3)
    return f"Masks have a {title} of {value} on test cases, where 1 is perfect{other}."


PAGE = SplitPage(
    SUBJECT,
    lambda runs: (_show_slices(runs[0]), _show_cases(runs[0])),
    headline=_headline,
    titles=TITLES,
    total="samples",
    support=lambda runs: [POOLED if headline(runs[0].state.num_modes) == "dice_pooled" else BY_CASE],
    tables=_by_class,
)


def save_slices(
    folder: RunFolder, cases: pd.DataFrame, model: str, predict: Predictor, test: Samples[Examples]
) -> None:
    """Keep the worst, middle and best test cases of a model by mean Dice."""
    rows = cases[(cases["split"] == "test") & (cases["model"] == model) & cases["scored"]]
    dice = rows.groupby("case", sort=False)["dice"].mean().dropna().sort_values(kind="stable")
    count, third = len(dice), SHOWN // 3
    middle = max(count // 2 - third // 2, 0)
    chosen = [*range(third), *range(middle, middle + third), *range(count - third, count)]
    tensors, names = {}, []
    for number, position in enumerate(sorted({each for each in chosen if 0 <= each < count})):
        case = str(dice.index[position])
        example = test.inputs.read(test.names["case"].index(case))
        predicted = predict(example.values).astype(np.int16)
        shown = _slice(example.values, example.target, predicted)
        for part, values in zip(("image", "target", "predicted"), shown, strict=True):
            tensors[f"{number}.{part}"] = torch.from_numpy(np.ascontiguousarray(values))
        names.append({"case": case, "dice": round(float(dice.iloc[position]), 6)})
    files.write_tensors(folder.path / SLICES, tensors)
    folder.write_json(NAMES, names)


def _slice(
    values: Array, target: NDArray[np.int16], predicted: NDArray[np.int16]
) -> tuple[NDArray[np.uint8], NDArray[np.int16], NDArray[np.int16]]:
    """Across the first axis of a volume, where target and prediction mark most; the mean over channels in grey."""
    grey: Floats = values.astype(np.float64).mean(0)
    if grey.ndim == 3:
        marked = ((target > 0) | (predicted > 0)).sum((1, 2))
        strongest = int(marked.argmax())
        grey, target, predicted = grey[strongest], target[strongest], predicted[strongest]
    low, high = np.percentile(grey, [1, 99])
    level = np.clip((grey - low) / max(high - low, 1e-12), 0, 1)
    return np.rint(255 * level).astype(np.uint8), target, predicted


def load_slices(folder: RunFolder) -> list[Shown]:
    """Read what `save_slices` kept."""
    tensors, shown = folder.load_tensors(SLICES), []
    for number, name in enumerate(folder.read_json(NAMES)):
        parts = {part: tensors[f"{number}.{part}"].numpy() for part in ("image", "target", "predicted")}
        if {values.shape for values in parts.values()} != {parts["image"].shape} or parts["image"].ndim != 2:
            raise ValueError("slices of one case differ in size")
        shown.append(Shown(case=str(name["case"]), dice=float(name["dice"]), **parts))
    return shown
