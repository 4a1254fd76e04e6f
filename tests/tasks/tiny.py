"""One tiny run per task: its data on disk, its settings, and changes to the data that leave every size as it was."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from multiway.tasks import settings
from papers.stocks.quotes import settings as stock_settings
from papers.stocks.quotes import write_stocks
from tasks.forecasting.panels import QUICK, make_frame
from tasks.forecasting.panels import TINY as FORECASTER
from tasks.grids.fields import LONGITUDES, make_field, write_npz
from tasks.images.shapes import invert, write_folder, write_picture
from tasks.scans.classes.blocks import NETWORK, write_table
from tasks.scans.masks.lesion_files import FAST, write_boxes

TASKS = settings.TASKS
UNEXPLAINED = ("spectra",)
"""Tasks whose runs neither explain nor compress what they learnt."""
OUT = {"segment": "masks", "grids": "out.npz"}
"""What `predict` writes where that is no table."""

SAVING = {"checkpoint_seconds": 0}
"""A state after every step, so that a kill at any of them has one to go on from."""


STILL = {"model__dropout": 0.0, "training__epochs": 1}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tiny:
    """A tiny run as words of the command line.

    changes: Each alters one value of the data, in place.
    spoil: Makes the data unusable, in place.
    alone: Writes the data of one sample into a folder that does not exist yet; its path.
    lacking: Writes later data there without something that training saw; its path.
    batch: What predicts the sample among others: a table of the run, or a command that writes one.
    still: Changes to the settings without which nothing is drawn in training, and little else is done.
    """

    task: str
    data: Path
    settings: dict[str, Any]
    changes: dict[str, Callable[[], object]]
    spoil: Callable[[], object]
    alone: Callable[[Path], Path]
    lacking: Callable[[Path], Path]
    still: dict[str, Any]
    batch: str = "predict"

    def train(self, out: Path, **changes: Any) -> list[str]:
        """Words of `multiway train`; two underscores in a change stand for a dot."""
        named = {name.replace("__", "."): value for name, value in changes.items()}
        leaves = leaves_of(self.settings) | named
        sets = [word for name, value in leaves.items() for word in ("--set", f"{name}={json.dumps(value)}")]
        return ["train", self.task, "--data", str(self.data), "--out", str(out), *sets]


def leaves_of(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as fields: {"training": {"epochs": 2}} to {"training.epochs": 2}."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= leaves_of(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return found


def edit(path: Path, old: str, new: str) -> None:
    """Replace the last of some characters in a text file."""
    head, found, tail = path.read_text().rpartition(old)
    assert found
    path.write_text(head + new + tail)


def raise_voxel(path: Path) -> None:
    """Change one voxel of an array on disk."""
    values = np.load(path)
    values.flat[0] += 1
    np.save(path, values)


def last_digit(path: Path) -> None:
    """Change the last digit of a text file."""
    text = path.read_text().rstrip("\n")
    path.write_text(f"{text[:-1]}{(int(text[-1]) + 1) % 10}\n")


def forecast(folder: Path) -> Tiny:
    path = folder / "loads.csv"
    make_frame(rows=220).to_csv(path, index=False)
    settings = {"lookback": 12, "horizon": 4, "season": 12, "answer": "network", "model": FORECASTER}
    training = {**QUICK, **SAVING, "epochs": 2, "learning_rate": 0.01}

    def alone(target: Path) -> Path:
        head, *rows = path.read_text().splitlines()
        return written(target / "loads.csv", [head, *rows[: -settings["horizon"]][-settings["lookback"] :]])

    return Tiny(
        task="forecast", data=path, settings={**settings, "training": training},
        still={**STILL, "partner": "none"}, alone=alone,
        lacking=lambda target: renamed(path, target), batch="backtest",
        changes={"value": lambda: last_digit(path)},
        spoil=lambda: edit(path, "2024-01-02", "yesterday!"),
    )  # fmt: skip


def volumes(folder: Path) -> Tiny:
    path = write_table(folder)
    training = {**SAVING, "epochs": 3, "batch_size": 8, "warmup_steps": 2, "learning_rate": 3e-3}
    return Tiny(
        task="volumes", data=path,
        settings={"draws": 20, "model": NETWORK, "baselines": ["majority", "logistic", "cnn"], "training": training},
        still={**STILL, "baselines": ["majority"]},
        changes={
            "voxel": lambda: raise_voxel(folder / "scan03.npy"),
            "label": lambda: edit(path, "scan29.npy,high,p14", "scan29.npy,low,p14"),
        },
        spoil=(folder / "scan03.npy").unlink, alone=lambda target: copied(folder / "scan12.npy", target),
        lacking=lambda target: flattened(folder / "scan12.npy", target),
    )  # fmt: skip


def segment(folder: Path) -> Tiny:
    path = write_boxes(folder)
    return Tiny(
        task="segment", data=path, settings={**FAST, "training": {**FAST["training"], **SAVING}},
        still={**STILL, "baselines": ["background"]},
        changes={
            "voxel": lambda: raise_voxel(folder / "image3.npy"),
            "mask": lambda: raise_voxel(folder / "mask3.npy"),
        },
        spoil=(folder / "mask3.npy").unlink, alone=lambda target: copied(folder / "image5.npy", target),
        lacking=lambda target: flattened(folder / "image5.npy", target),
    )  # fmt: skip


def stocks(folder: Path) -> Tiny:
    path = write_stocks(folder / "market")
    names = ["majority", "previous", "logistic", "calendar"]

    def alone(target: Path) -> Path:
        prices, texts = (pd.read_csv(path / name, keep_default_na=False) for name in ("prices.csv", "texts.csv"))
        day = sorted(set(prices["date"]))[-3]
        for name, frame in (("prices.csv", prices), ("texts.csv", texts)):
            written(target / name, frame[frame["date"] < day].to_csv(index=False).splitlines())
        return target

    return Tiny(
        task="stocks", data=path,
        settings=stock_settings(training={"epochs": 3, **SAVING}, baselines=names),
        still={**STILL, "model__text_dropout": 0.0, "baselines": ["majority"]},
        changes={
            "price": lambda: edit(path / "prices.csv", ",1000.0", ",1001.0"),
            "text": lambda: edit(path / "texts.csv", "grow", "grew"),
        },
        spoil=lambda: edit(path / "prices.csv", "2020-01-07", "2020-13-07"), alone=alone, batch="predictions.parquet",
        lacking=lambda target: without(path / "prices.csv", "close", target, path / "texts.csv"),
    )  # fmt: skip


def people(count: int = 90) -> pd.DataFrame:
    """Rows of numbers, words and a truth value, with the class of each; every row has a name of its own."""
    draw = np.random.default_rng(0)
    age = draw.integers(20, 80, count)
    return pd.DataFrame(
        {
            "name": [f"person-{row:02d}" for row in range(count)],
            "age": age,
            "weight": draw.normal(70, 9, count).round(1),
            "city": draw.choice(["Ulm", "Bonn", "Kiel"], count),
            "smokes": draw.random(count) < 0.3,
            "ill": np.where(age + draw.normal(0, 10, count) > 50, "yes", "no"),
        }
    )


def tabular(folder: Path) -> Tiny:
    path = folder / "people.csv"
    people().to_csv(path, index=False)
    training = {**SAVING, "epochs": 3, "batch_size": 16, "warmup_steps": 2, "learning_rate": 0.02}
    settings = {"read": {"target": "ill"}, "model": {"hidden": [8]}, "draws": 20, "training": training}

    def alone(target: Path) -> Path:
        head, *rows = path.read_text().splitlines()
        return written(target / "people.csv", [head, rows[7]])

    return Tiny(
        task="tabular", data=path, settings={**settings, "baselines": ["majority", "logistic"]},
        still={**STILL, "baselines": ["majority"]}, alone=alone,
        lacking=lambda target: without(path, "age", target),
        changes={"word": lambda: edit(path, "Kiel", "Bonn"), "truth": lambda: edit(path, "False,no", "True ,no")},
        spoil=lambda: edit(path, ",ill", ",age"),
    )  # fmt: skip


def waves(count: int = 60, steps: int = 12) -> pd.DataFrame:
    """A long table of two variates: series of unlike lengths, each of a class that a bump in it tells."""
    draw, rows = np.random.default_rng(0), []
    for series in range(count):
        values = draw.normal(0, 0.3, (steps - series % 3, 2))
        if series % 2:
            values[4:8, 0] += 2
        rows += [
            {"id": f"s{series:02d}", "time": step, "x": round(x, 3), "y": round(y, 3), "class": "ab"[series % 2]}
            for step, (x, y) in enumerate(values)
        ]  # fmt: skip
    return pd.DataFrame(rows)


def series(folder: Path) -> Tiny:
    path = folder / "waves.csv"
    waves().to_csv(path, index=False)
    training = {**SAVING, "epochs": 3, "batch_size": 16, "warmup_steps": 2, "learning_rate": 0.02}
    settings = {"model": {"dim": 4, "num_heads": 2}, "draws": 20, "training": training}

    # The gradient of the keys' bias is 0 but for rounding, which differs over processes and which Adam follows
    still = {**STILL, "training__learning_rate": 5e-4, "baselines": ["majority"]}

    def alone(target: Path) -> Path:
        head, *rows = path.read_text().splitlines()
        return written(target / "waves.csv", [head, *(row for row in rows if row.startswith("s07"))])

    return Tiny(
        task="series", data=path, settings={**settings, "baselines": ["majority", "logistic"]}, still=still,
        alone=alone,
        lacking=lambda target: without(path, "x", target),
        changes={"value": lambda: edit(path, "s31,0,", "s31,0,1"), "class": lambda: swap_classes(path, "s30", "s31")},
        spoil=lambda: edit(path, "s31,0,", "s31,1,"),
    )  # fmt: skip


def swap_classes(path: Path, *names: str) -> None:
    """Exchange the classes of two series of a long table."""
    rows = pd.read_csv(path, dtype=str)
    chosen = rows["id"].isin(names)
    rows.loc[chosen, "class"] = rows.loc[chosen, "class"].map({"a": "b", "b": "a"})
    rows.to_csv(path, index=False)


def notes(count: int = 90) -> pd.DataFrame:
    """Texts of a few words, most of which say whether it is day or night, and who wrote them."""
    draw = np.random.default_rng(0)
    night = draw.random(count) < 0.5
    said = {True: ["moon", "stars", "owl"], False: ["sun", "bees", "noon"]}
    texts = [
        " ".join([*draw.choice(said[bool(dark)], 2), *draw.choice(["we", "saw", "a", "far", "field"], 3), f"x{row}"])
        for row, dark in enumerate(night != (draw.random(count) < 0.15))
    ]
    author = draw.choice(["Ada", "Bo", "Cy"], count)
    return pd.DataFrame({"author": author, "text": texts, "label": np.where(night, "night", "day")})


def text(folder: Path) -> Tiny:
    path = folder / "notes.csv"
    notes().to_csv(path, index=False)
    training = {**SAVING, "epochs": 3, "batch_size": 16, "warmup_steps": 2, "learning_rate": 0.02}
    model = {"dim": 8, "block": {"num_heads": 2, "dropout": 0.0}}
    encoder = {"encoder": "hashed", "hashed_dim": 8}
    settings = {"inputs": "words", "model": model, "text": encoder, "draws": 20, "training": training}

    def alone(target: Path) -> Path:
        head, *rows = path.read_text().splitlines()
        return written(target / "notes.csv", [head, rows[7]])

    return Tiny(
        task="text", data=path, settings={**settings, "baselines": ["majority", "tfidf", "vectors"]},
        still={**STILL, "baselines": ["majority"]}, alone=alone,
        lacking=lambda target: without(path, "text", target),
        changes={"word": lambda: edit(path, "moon", "stars"), "class": lambda: edit(path, ",night", ",day")},
        spoil=lambda: edit(path, ",label", ",text"),
    )  # fmt: skip


def images(folder: Path) -> Tiny:
    path = write_folder(folder / "shapes")
    training = {**SAVING, "epochs": 3, "batch_size": 8, "warmup_steps": 2, "learning_rate": 0.01}
    settings = {"model": {"channels": [4, 6]}, "weights": "hidden", "draws": 20, "training": training}

    def alone(target: Path) -> Path:
        target.mkdir()
        copied(path / "bar" / "03.png", target / "bar")
        return target

    return Tiny(
        task="images", data=path, settings=settings,
        still={**STILL, "model__logit_dropout": 0.0, "baselines": ["majority"]}, alone=alone,
        lacking=lambda target: write_picture(target / "03.png", size=12),
        changes={
            "pixel": lambda: invert(path / "bar" / "03.png"),
            "class": lambda: (path / "bar" / "04.png").rename(path / "dot" / "99.png"),
        },
        spoil=lambda: (path / "bar" / "03.png").write_bytes(b"no image"),
    )  # fmt: skip


def grids(folder: Path) -> Tiny:
    path = write_npz(folder / "sea.npz", make_field(60))
    network = {"patch_size": 2, "dim": 8, "num_heads": 2, "rank": 2, "num_blocks": 1}
    training = {**SAVING, "epochs": 3, "learning_rate": 0.01}
    settings = {"context": 5, "horizon": 2, "model": network, "budget": None, "training": training}

    def alone(target: Path) -> Path:
        target.mkdir()
        return write_npz(target / "sea.npz", make_field(60)[:-2])

    def raised(place: tuple[int, ...]) -> None:
        values = make_field(60)
        values[place] += 1
        write_npz(path, values)

    return Tiny(
        task="grids", data=path, settings=settings, still=STILL, alone=alone,
        lacking=lambda target: narrowed(target / "sea.npz"),
        changes={"value": lambda: raised((30, 0, 0)), "last value": lambda: raised((59, 2, 4))},
        spoil=lambda: path.write_bytes(b"no field"),
    )  # fmt: skip


def narrowed(path: Path) -> Path:
    """A field that has lost a longitude."""
    path.parent.mkdir()
    return write_npz(path, make_field(60)[..., :-1], lon=LONGITUDES[:-1])


STORY = "the {} sees the {} and goes to the {} where it {} all day long"
NAMES, DEEDS = ("cat", "dog", "fox", "hen", "cow"), ("sleeps", "sings", "eats", "waits")


def stories(count: int = 30) -> list[str]:
    """Short texts of few words; every one has a number of its own."""
    draw = np.random.default_rng(0)
    return [f"{row}: " + STORY.format(*draw.choice(NAMES, 3), draw.choice(DEEDS)) + ".\n" for row in range(count)]


def language(folder: Path) -> Tiny:
    path = written(folder / "stories.jsonl", [json.dumps({"text": each, "year": 1}) for each in stories()])
    training = {**SAVING, "epochs": 3, "batch_size": 8, "warmup_steps": 2, "learning_rate": 0.01}
    model = {"dim": 6, "num_heads": 3, "num_blocks": 1}
    settings = {"tokens": {"vocabulary": 300, "context": 16}, "model": model, "draws": 20, "training": training}

    def alone(target: Path) -> Path:
        return written(target / "stories.jsonl", path.read_text().splitlines()[7:8])

    def lacking(target: Path) -> Path:
        return written(target / "stories.jsonl", ['{"year": 1}'])

    return Tiny(
        task="language", data=path, settings={**settings, "baselines": ["unigram", "trigram"]},
        still={**STILL, "training__learning_rate": 5e-4, "baselines": ["unigram"]},  # keys' bias, as of series
        alone=alone, lacking=lacking,
        changes={"word": lambda: edit(path, "all day", "all dab")},
        spoil=lambda: edit(path, '"year"', '"year'),
    )  # fmt: skip


def written(path: Path, lines: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")
    return path


def renamed(path: Path, folder: Path) -> Path:
    """A table none of whose series is one of the run's."""
    return written(folder / path.name, path.read_text().replace("series", "shop").splitlines())


def without(path: Path, column: str, folder: Path, *others: Path) -> Path:
    """A table without one of its columns, in a folder with other files as they are; the folder where there are any."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False).drop(columns=column)
    target = written(folder / path.name, rows.to_csv(index=False).splitlines())
    for other in others:
        (folder / other.name).write_bytes(other.read_bytes())
    return folder if others else target


def flattened(path: Path, folder: Path) -> Path:
    """A scan that has lost an axis."""
    folder.mkdir()
    np.save(folder / path.name, np.load(path)[0])
    return folder


def copied(path: Path, folder: Path) -> Path:
    folder.mkdir()
    (folder / path.name).write_bytes(path.read_bytes())
    return folder


def spectra(folder: Path) -> Tiny:
    """The task of `tests/plugin`, where that is installed."""
    path = write_spectra(folder)["some"]
    training = {**SAVING, "epochs": 3, "batch_size": 16, "warmup_steps": 2, "learning_rate": 0.02}

    def alone(target: Path) -> Path:
        return written(target / "some.spectra", path.read_text().splitlines()[:1])

    def lacking(target: Path) -> Path:
        return written(target / "some.spectra", [line.rpartition(" ")[0] for line in path.read_text().splitlines()])

    return Tiny(
        task="spectra",
        data=path,
        settings={"model": {"hidden": [8]}, "draws": 20, "training": training},
        still={**STILL, "baselines": ["majority"]},
        alone=alone,
        lacking=lacking,
        changes={"value": lambda: last_digit(path), "class": lambda: edit(path, "\na", "\nb")},
        spoil=lambda: edit(path, "\na ", "\na nan "),
    )


def write_spectra(folder: Path) -> dict[str, Path]:
    """Spectra of three classes, each with a peak of its own; later ones, and some that lack a value."""
    drawn = np.random.default_rng(0)
    labels, values = np.arange(120) % 3, drawn.normal(size=(120, 16)) / 4
    values[np.arange(120), 5 * labels] += 2
    lines = [f"{'abc'[label]} {' '.join(map(str, row))}" for label, row in zip(labels, values.round(3), strict=True)]
    later = [f"? {line[2:]}" for line in lines[:6]]
    named = {"some": lines, "new": later, "one": later[4:5], "lacking": [*lines, f"a {'nan ' * 16}"]}
    return {name: written(folder / f"{name}.spectra", text) for name, text in named.items()}


TINY: dict[str, Callable[[Path], Tiny]] = {
    "forecast": forecast,
    "series": series,
    "volumes": volumes,
    "segment": segment,
    "stocks": stocks,
    "text": text,
    "tabular": tabular,
    "images": images,
    "grids": grids,
    "language": language,
} | ({"spectra": spectra} if "spectra" in TASKS else {})
