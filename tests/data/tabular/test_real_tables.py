"""The two tables of the NdLinear paper, where they are: sizes, and the number of inputs of its networks."""

import pytest

from multiway.data.tabular import Encoding, TableOptions, TableSplit, check_table, read_table, split_table
from multiway.data.tabular.catalogue import TABLE_DATASETS


@pytest.mark.parametrize(("name", "inputs", "classes"), [("cardio", 11, ("0", "1")), ("food_delivery", 14, None)])
def test_a_published_table(name, inputs, classes, real_data):
    known = TABLE_DATASETS[name]
    path = real_data / "tabular" / known.files[0]
    table = read_table(path, known.read)
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
