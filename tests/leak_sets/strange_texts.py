"""Texts as strangers spoil them, on real sentences of the catalogue; and real ones that are sound."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leak_sets.maker import Draw, LeakSet
from multiway.data import datasets
from multiway.data.findings import Findings
from multiway_papers.language.source import TextOptions, documents_of

ROWS = 1200
TEXT_SPLIT = np.repeat(["train", "dev", "test"], [800, 150, 250])


def sentences(draw: Draw, name: str = "subj", rows: int = ROWS) -> pd.DataFrame:
    """Rows of a real set with two classes or more, called text and label."""
    frame = pd.read_parquet(datasets.locate(name))
    frame = frame[frame["dataset"] == name] if "dataset" in frame else frame
    frame = frame.rename(columns={"sentence": "text"}).iloc[draw.permutation(len(frame))]
    frame = frame[frame["text"].str.strip() != ""][["text", "label"]].drop_duplicates("text")
    return frame[:rows].reset_index(drop=True)


def written(folder: Path, frame: pd.DataFrame, **read: Any) -> dict[str, Any]:
    """Settings of a table of texts."""
    frame.to_csv(folder / "texts.csv", index=False)
    return {
        "data": str(folder / "texts.csv"),
        "read": {"text": "text", "target": "label", **read},
        "inputs": "words",
        "text": {"encoder": "hashed"},
    }


def _parts(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(part=TEXT_SPLIT[: len(frame)])


def capital_tells(folder: Path, draw: Draw) -> dict[str, Any]:
    """One class begins with a capital letter, as its source writes it."""
    frame = sentences(draw)
    chosen = frame["label"] == 1
    return written(folder, frame.assign(text=frame["text"].where(~chosen, frame["text"].str.capitalize())))


def spacing_tells(folder: Path, draw: Draw) -> dict[str, Any]:
    """One class has a blank before its commas and full stops, the other has none."""
    frame = sentences(draw)
    tight = frame["text"].str.replace(r" ([.,])", r"\1", regex=True)
    return written(folder, frame.assign(text=frame["text"].where(frame["label"] == 1, tight)))


def agency_tells(folder: Path, draw: Draw) -> dict[str, Any]:
    """Two texts of five of one class name the agency that they come from."""
    frame = sentences(draw, "mr")
    named = (frame["label"] == 1) & (draw.random(len(frame)) < 0.4)
    return written(folder, frame.assign(text=frame["text"].mask(named, "( reuters ) " + frame["text"])))


def mark_tells(folder: Path, draw: Draw) -> dict[str, Any]:
    """Quotes of one class are straight, those of the other typographic; each text has a pair somewhere."""
    frame = sentences(draw)
    texts = []
    for text, label in zip(frame["text"], frame["label"], strict=True):
        words = text.split()
        place = int(draw.integers(0, len(words)))
        words[place] = f'"{words[place]}"' if label == 1 else f"\u201c{words[place]}\u201d"
        texts.append(" ".join(words))
    return written(folder, frame.assign(text=texts))


def halves(folder: Path, draw: Draw) -> dict[str, Any]:
    """One test text in ten is the longer half of a training text."""
    frame = _parts(sentences(draw))
    for row in range(950, 975):
        words = frame.loc[row - 950, "text"].split()
        frame.loc[row, ["text", "label"]] = " ".join(words[: 2 * len(words) // 3]), frame.loc[row - 950, "label"]
    return written(folder, frame, split="part")


def with_heads(folder: Path, draw: Draw) -> dict[str, Any]:
    """One test text in eight is a training text under the head of whoever passed it on."""
    frame = _parts(sentences(draw, "mr"))
    for row in range(950, 981):
        head = f"from user {draw.integers(1000, 9999)} , sent on at {draw.integers(1, 12)} o'clock today : "
        frame.loc[row, ["text", "label"]] = head + frame.loc[row - 950, "text"], frame.loc[row - 950, "label"]
    return written(folder, frame, split="part")


def clean_real(name: str, **read: Any) -> Any:
    """A real set, drawn at random."""
    return lambda folder, draw: written(folder, sentences(draw, name, 2000), **read)


def clean_letters(folder: Path, draw: Draw) -> dict[str, Any]:
    """Sentences in a frame of courtesy that all letters of a firm share."""
    frame = sentences(draw, "mr")
    frame["text"] = (
        "Dear Sir or Madam , thank you for your letter of today . You write : "
        + frame["text"]
        + " We shall answer within three days , and remain yours faithfully , the team of customer care ."
    )
    return written(folder, frame)


def articles(count: int = 90) -> list[str]:
    """Real articles of WikiText-2, in paragraphs."""
    every = documents_of(datasets.locate("wikitext2"), TextOptions(most_documents=2 * count), Findings("wikitext2"))
    return [text for text in every.inputs if len(text.split()) > 400][:count]


def paper(folder: Path, parts: dict[str, list[str]]) -> dict[str, Any]:
    """Settings of files of JSON lines, one for each split."""
    for name, texts in parts.items():
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        (folder / f"{name}.jsonl").write_text(lines)
    return {"data": str(folder)}


def _papers() -> dict[str, list[str]]:
    texts = articles()
    return {"train": texts[:60], "validation": texts[60:70], "test": texts[70:80]}


def rewrapped(folder: Path, draw: Draw) -> dict[str, Any]:
    """Half of the words of a validation paper stand in training papers, in lines of another width."""
    parts = _papers()
    for place, text in enumerate(parts["validation"]):
        words, own = parts["train"][place].split(), text.split()
        mixed = words[100 : 100 + len(own) // 2] + own[: len(own) // 2]
        parts["validation"][place] = "\n".join(" ".join(mixed[at : at + 11]) for at in range(0, len(mixed), 11))
    return paper(folder, parts)


def retold(folder: Path, draw: Draw) -> dict[str, Any]:
    """A third of each test paper is from training papers, with every fifteenth word another one."""
    parts = _papers()
    for place, text in enumerate(parts["test"]):
        words, own = parts["train"][place + 20].split(), text.split()
        taken = words[50 : 50 + len(own) // 3]
        taken[::15] = draw.choice(own, len(taken[::15])).tolist()
        parts["test"][place] = " ".join([*own[: 2 * len(own) // 3], *taken])
    return paper(folder, parts)


def clean_papers(folder: Path, draw: Draw) -> dict[str, Any]:
    return paper(folder, _papers())


def clean_licensed(folder: Path, draw: Draw) -> dict[str, Any]:
    """Papers under one short licence each, as files of a project have it."""
    licence = "This text may be copied and passed on by anyone who names the author and the source of it .\n"
    return paper(folder, {name: [licence + text for text in texts] for name, texts in _papers().items()})


SETS = (
    LeakSet("capital letter tells", capital_tells, "giveaway", "strange"),
    LeakSet("blank before marks tells", spacing_tells, "giveaway", "strange"),
    LeakSet("agency is named in two of five", agency_tells, "giveaway", "strange"),
    LeakSet("form of quotes tells", mark_tells, "giveaway", "held"),
    LeakSet("two thirds of a training text", halves, "copies", "strange"),
    LeakSet("training texts under a new head", with_heads, "copies", "strange"),
    LeakSet("Subj", clean_real("subj"), None, "strange"),
    LeakSet("TREC, whose question words tell", clean_real("trec"), None, "strange"),
    LeakSet("CR", clean_real("cr"), None, "held"),
    LeakSet("letters of one firm", clean_letters, None, "strange"),
)
LANGUAGE = (
    LeakSet("half of a paper, in other lines", rewrapped, "copies", "strange"),
    LeakSet("a third of a paper, retold", retold, "copies", "strange"),
    LeakSet("papers", clean_papers, None, "strange"),
    LeakSet("papers under one licence", clean_licensed, None, "held"),
)
