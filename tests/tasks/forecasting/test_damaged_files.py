"""Files damaged at random are read soundly or refused in one line; nothing else happens."""

import random

import numpy as np
import pytest

from fewer import few
from multiway.data import ReadOptions, Scaler
from multiway.errors import DataError
from multiway.tasks.forecasting.read import check_file, read_panel

WIDE = "date,a,b\n" + "".join(f"2024-01-{day:02d},{day}.5,{day * 2}\n" for day in range(1, 20))
LONG = "unique_id,ds,y\n" + "".join(f"{name},2024-01-{day:02d},{day}\n" for name in "xyz" for day in range(1, 12))
DEBRIS = [
    b",", b"\n", b";", b'"', b"\x00", b"-", b"NaN", b"inf", b"1e999", b"\xff", b"\r", b"2024-01-05", b"9" * 23,
    b"-9999", b" ", b"\t", b"'", b"NA", b"True", b"\xef\xbb\xbf", b"", b"9999-12-31", b"0000-00-00", b"1e308",
    b"+01:00", b"|",
]  # fmt: skip
POLICIES = [
    ReadOptions(),
    ReadOptions(missing="mask", duplicates="first", gaps="fill", unsorted="sort"),
    ReadOptions(missing="ffill", duplicates="mean", gaps="ignore", unsorted="sort"),
    ReadOptions(missing="mask", duplicates="keep", gaps="fill", decimal=","),
]


def damaged(chance: random.Random) -> bytes:
    content = bytearray((WIDE if chance.random() < 0.6 else LONG).encode())
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(content) + 1)
        content[at : at + chance.choice([0, 0, 1, 3, 10])] = chance.choice(DEBRIS)
    return bytes(content)


@pytest.mark.parametrize("seed", few(range(2), 0))
@pytest.mark.parametrize("options", POLICIES, ids=lambda options: f"{options.missing}-{options.duplicates}")
def test_damage(seed, options, tmp_path):
    chance, path = random.Random(seed), tmp_path / "f.csv"
    for _ in range(8):
        path.write_bytes(damaged(chance))
        try:
            panel = read_panel(path, options)
        except DataError as error:
            assert str(error).startswith("f.csv: ") and "\n" not in str(error)
            assert not check_file(path, options).is_usable
            continue
        assert check_file(path, options).is_usable
        assert panel.values.shape == (len(panel.times), len(panel.names))
        assert panel.times.is_monotonic_increasing
        assert options.missing == "mask" or not np.isnan(panel.values).any()
        assert not np.isinf(Scaler.fit(panel.values).transform(panel.values)).any()
