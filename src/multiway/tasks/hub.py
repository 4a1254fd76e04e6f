"""Runs on the Hugging Face hub: a folder with a model card, sent there and taken from there."""

import shutil
import tempfile
from pathlib import Path
from typing import Any, Self

from multiway import files
from multiway.compress.hub import HOW, card_head, card_lines, fetched, send
from multiway.report import text
from multiway.report.scores import Column, Scores
from multiway.tasks.compressed import recovery_line
from multiway.tasks.protocol import NETWORK
from multiway.tasks.run import Run, save_run
from multiway.tasks.scores import in_words

FILES = ("*.yaml", "*.json", "*.jsonl", "*.safetensors", "*.parquet", "*.npz", "*.md")
"""What a run consists of; nothing else is fetched."""


class OnHub:
    """What an estimator does with the hub; needs `pip install huggingface-hub`."""

    def save_pretrained(self, path: str | Path) -> None:
        """Write a run folder with a model card: data, split, scores and baselines."""
        write_with_card(self._run(), Path(path))  # type: ignore[attr-defined]

    def push_to_hub(self, name: str, *, private: bool = True) -> None:
        """Send the run to the repository of that name, which is made if it is not there."""
        run: Run = self._run()  # type: ignore[attr-defined]
        kept = run.folder
        with tempfile.TemporaryDirectory() as scratch:
            write_with_card(run, Path(scratch) / "run")
            run.folder = kept  # not the scratch, which goes
            send(Path(scratch) / "run", name, private=private)

    @classmethod
    def from_pretrained(cls, name: str | Path) -> Self:
        """Take up a run from a folder, or from the repository of that name."""
        folder = name if Path(name).is_dir() else fetched(str(name), FILES, "run")
        loaded: Self = cls.load(folder)  # type: ignore[attr-defined]
        return loaded


def write_with_card(run: Run, folder: Path) -> None:
    """Write the files of a run and its card into a folder that does not exist yet."""
    if run.folder is None:
        save_run(run, folder)
    else:
        run.folder.check_free(folder)
        shutil.copytree(run.folder.path, folder, ignore=shutil.ignore_patterns("state", ".*"))
    files.write_text(folder / "README.md", model_card(run))


def model_card(run: Run) -> str:
    """What the run is, in the form of the hub: its answer, its data, and every candidate's test scores."""
    scores = run.task.page.SUBJECT.scores([run])
    splits = run.facts.get("splits", {})
    lines = [f"- {split}: {_counted(facts)}" for split, facts in splits.items()]
    name = Path(str(run.config.data or run.facts.get("source") or "data in memory")).name
    told = text.sentence_case(run.task.headline(run))
    return "\n".join(
        [
            *card_head(run.task.name),
            f"# {name}: {run.task.name}",
            "",
            told,
            "",
            scores.told(run.line),
            "",
            "Split:",
            "",
            *lines,
            "",
            "Test scores:",
            "",
            *_table(run, scores),
            "",
            *_compressed(run),
            HOW.format("from_pretrained"),
            "",
        ]
    )


def _table(run: Run, scores: Scores) -> list[str]:
    """Test scores with their intervals, the best first; the answer once, and what are its baselines."""
    own, answer = run.task.scored_as(run), run.answer.name
    names = {model: scores.name(answer if model == own else model) for model, _ in scores.ranked()}
    columns = scores.measured()
    heads = ["model", "", *(" ".join([scale, scores.heading(name)]).strip() for name, scale in columns)]
    rows = [
        [name, _part(model, own), *(_score(scores, model, column) for column in columns)]
        for model, name in names.items()
        if model == own or model != answer  # ours has what the one model that answers has, and bands
    ]
    return [f"| {' | '.join(cells)} |" for cells in [heads, ["---"] * len(heads), *rows]]


def _part(model: str, own: str) -> str:
    return "answer" if model == own else "" if model == NETWORK else "baseline"


def _score(scores: Scores, model: str, column: Column) -> str:
    own = scores.of(model, column)
    return "–" if own.value is None else own.in_words(scores.decimals(column))


def _compressed(run: Run) -> list[str]:
    """What became of the network's layers, and its scores before, after and recovered, if it was made smaller."""
    if "before_compression" not in run.facts:
        return []
    lines = ["Made smaller:", "", *card_lines(run.task.swappable(run.model)), ""]
    lines += ["Before, of the answer: " + in_words(run, run.facts["before_compression"]), ""]
    recovery = run.facts.get("recovery")
    return lines if recovery is None else [*lines, recovery_line(run, recovery), ""]


def _counted(facts: Any) -> str:
    if not isinstance(facts, dict):
        return str(facts)
    return ", ".join(f"{name} {value}" for name, value in facts.items() if isinstance(value, int | str))
