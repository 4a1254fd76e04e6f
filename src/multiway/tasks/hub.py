"""The model card of a run, and a run as a folder with it: data, split, scores, baselines, use and limits."""

import functools
import shutil
from pathlib import Path

from multiway import files, hub
from multiway.compress.storage import describe_swaps
from multiway.report import text
from multiway.report.scores import Scores
from multiway.tasks.compressed import recovery_line
from multiway.tasks.protocol import NETWORK
from multiway.tasks.run import Run, save_run
from multiway.tasks.scores import in_words

USE = (
    "- For data like those of the split above, written in the same units.",
    "- Try it on your own data before it decides anything, and have a person answer for what it decides.",
)


def save_with_card(run: Run, folder: Path) -> None:
    """Write the files of a run and its card into a folder that does not exist yet."""
    card = functools.partial(hub.write_card, tag=run.task.name, title=_title(run), lines=describe_run(run))
    if run.folder is None:
        save_run(run, folder, card)
        return
    run.folder.check_free(folder)
    with files.folder_to_fill(folder) as made:
        shutil.copytree(run.folder.path, made, ignore=shutil.ignore_patterns("state", ".*"), dirs_exist_ok=True)
        card(made)


def card_of(run: Run) -> str:
    """The card as Markdown."""
    return hub.card(run.task.name, _title(run), describe_run(run))


def _title(run: Run) -> str:
    name = Path(str(run.config.data or run.facts.get("source") or "data in memory")).name
    return f"{name}: {run.task.name}"


def describe_run(run: Run) -> list[str]:
    """What the run is: its answer, its data, every candidate's test scores, its use and limits, and a compression."""
    scores = run.task.page.SUBJECT.scores([run])
    lines = [text.sentence_case(run.task.headline(run)), "", scores.name_models(run.line), "", "Split:", ""]
    for split, facts in run.facts.get("splits", {}).items():
        counts = facts
        if isinstance(facts, dict):
            counts = ", ".join(f"{name} {value}" for name, value in facts.items() if isinstance(value, int | str))
        lines.append(f"- {split}: {counts}")
    lines += ["", "Test scores:", "", *_score_table(run, scores)]
    lines += ["", "Use:", "", *USE, "", "Limits:", "", *(f"- {limit}" for limit in _limits(run))]
    if "before_compression" in run.facts:
        lines += ["", "Made smaller:", "", *describe_swaps(run.task.network_in(run.model)), ""]
        lines.append("Before, of the answer: " + in_words(run, run.facts["before_compression"]))
        if "recovery" in run.facts:
            lines += ["", recovery_line(run, run.facts["recovery"])]
    return lines


def _limits(run: Run) -> list[str]:
    """What the scores do not say, and what training noted."""
    seen = str(run.config.data or run.facts.get("source") or "data in memory")
    return [
        f"Scores are of the test split of {Path(seen).name} alone; data of another place or time may be unlike it.",
        "The test split was read once. Validation chose the answer, so scores there are too good.",
        *(in_words(run, note) for note in [*run.facts.get("notes", ()), *run.task.cautions(run)]),
    ]


def _score_table(run: Run, scores: Scores) -> list[str]:
    """Test scores with their intervals, the best first; the answer once, and what are its baselines."""
    own, answer = run.task.score_name(run), run.answer.name
    columns = scores.columns_with_values()
    heads = ["model", "", *(" ".join([scale, scores.heading(name)]).strip() for name, scale in columns)]
    rows = [heads, ["---"] * len(heads)]
    for model, _ in scores.ranking():
        if model == answer != own:  # ours has what the one model that answers has, and bands
            continue
        part = "answer" if model == own else "" if model == NETWORK else "baseline"
        cells = [scores.name(answer if model == own else model), part]
        for column in columns:
            score = scores.of(model, column)
            cells.append("–" if score.value is None else score.in_words(scores.decimals(column)))
        rows.append(cells)
    return [f"| {' | '.join(cells)} |" for cells in rows]
