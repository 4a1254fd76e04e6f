"""The two tables of the NdLinear paper, where they are: sizes, and the number of inputs of its networks."""

import pytest

from multiway.data.tabular import Encoding, TableOptions, TableSplit, check_table, read_table, split_table
from multiway.data.tabular.catalogue import DATASETS
from multiway.errors import DataError


@pytest.mark.parametrize(("name", "inputs", "classes"), [("cardio", 11, ("0", "1")), ("food_delivery", 14, None)])
def test_a_published_table(name, inputs, classes, real_data):
    known = DATASETS[name]
    table = read_table(real_data / "tabular" / f"{name}.parquet", TableOptions.parse(known.settings["read"]))
    assert table.num_rows == known.rows and table.columns.classes == classes
    encoding = Encoding.fit(table.take(split_table(table, TableSplit())["train"]))
    assert encoding.inputs(table).shape == (known.rows, inputs)
    assert not any(name != name.strip() for name in encoding.names)


def test_identifiers_are_found_without_being_named(real_data):
    cardio = read_table(real_data / "tabular" / "cardio.parquet", TableOptions(target="cardio"))
    assert "id" not in cardio.columns.inputs and len(cardio.columns.inputs) == 11
    report = check_table(real_data / "tabular" / "food_delivery.parquet", TableOptions(target="Time_taken(min)"))
    assert "column 'ID'" in " ".join(report.lines())
    assert "'Delivery_person_ID' has 1,321 levels" in " ".join(report.lines())


def test_a_table_behind_a_login_says_where_it_is(tmp_path):
    with pytest.raises(DataError, match=r"cardio: https://www\.kaggle\.com/.* asks for a login\. Download it there"):
        DATASETS["cardio"].fetch("cardio", tmp_path)
    header = ",".join(f"c{column}" for column in range(13))
    (tmp_path / "cardio.csv").write_text(f"{header}\n" + f"{'1,' * 12}1\n" * 70_000)
    assert DATASETS["cardio"].fetch("cardio", tmp_path) == tmp_path / "cardio.csv"
