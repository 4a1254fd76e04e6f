"""What data are for is seen from the data."""

import json

import numpy as np
import pandas as pd
import pytest

import multiway
from market_files import write_stocks
from multiway import workflows
from multiway.errors import ConfigError, DataError
from scan_files import write_scans
from tasks.forecasting.panels import make_frame
from tasks.tiny import people


@pytest.mark.parametrize(
    ("name", "content", "task"),
    [
        ("sales.csv", "date,north\n2024-01-01,3\n", "forecast"),
        ("path.csv", "date,path\n2024-01-01,3\n", "forecast"),
        ("empty.csv", "", "forecast"),
        ("scans.csv", "file,kind\na.nii.gz,x\n", "volumes"),
        ("series.csv", "path,label\nfolder-a,x\n", "volumes"),
        ("datalist.json", '{"training": [{"image": "a.nii.gz", "label": 0}]}', "volumes"),
        ("closes.csv", "ticker,date,open,close\nA,2024-01-02,3,4\n", "stocks"),
        ("long.csv", "unique_id,ds,y\nA,2024-01-02,3\n", "forecast"),
    ],
)
def test_a_table_is_of_series_of_scans_or_of_prices(name, content, task, tmp_path):
    (tmp_path / name).write_text(content)
    assert workflows.task_of_data(tmp_path / name) == task


def test_folders_arrays_and_known_sets(tmp_path):
    write_scans(tmp_path, patients=1)
    np.savez(tmp_path / "organs.npz", train_images=np.zeros((1, 2, 2, 2)))
    for path in (tmp_path / "new-scans", tmp_path / "new-scans" / "new-0.nii.gz", tmp_path / "organs.npz"):
        assert workflows.task_of_data(path) == "volumes"
    assert workflows.task_of_data("adrenalmnist3d") == "volumes"
    assert workflows.task_of_data(write_stocks(tmp_path)) == workflows.task_of_data("stocknet") == "stocks"
    assert workflows.task_of_data("ett_h1") == workflows.task_of_data(tmp_path / "absent.csv") == "forecast"


def test_a_folder_of_texts_is_of_language(tmp_path):
    for name in ("train", "test"):
        (tmp_path / f"{name}.txt").write_text("The cat sees a dog and the dog sees a cat.\n" * 9)
    assert workflows.task_of_data(tmp_path) == "language"
    (tmp_path / "scan.nii.gz").write_bytes(b"")
    assert workflows.task_of_data(tmp_path) == "volumes"


VOLUMES = np.random.default_rng(0).integers(0, 255, (30, 6, 6, 6))
CLASSES, MASKS = np.arange(30) % 2, (VOLUMES > 128).astype(int)
NUMBERS = np.random.default_rng(1).normal(size=(90, 3))


def prices(folder):
    write_stocks(folder)
    return pd.read_csv(folder / "prices.csv"), pd.DataFrame(
        map(json.loads, (folder / "texts.jsonl").read_text().splitlines())
    )


@pytest.mark.parametrize(
    ("task", "data", "said"),
    [
        ("forecast", make_frame(rows=220), "variates: 3"),
        ("forecast", NUMBERS, "variates: 3"),
        ("volumes", VOLUMES, "cases: 30"),
        ("volumes", (VOLUMES, CLASSES), "classes: 0 15, 1 15"),
        ("segment", (VOLUMES, MASKS), "masks: 30, values 0, 1"),
        ("stocks", lambda folder: prices(folder)[0], "rows of prices"),
        ("stocks", prices, "stock-days with a text"),
        ("tabular", people(), "categories: city, smokes, ill"),
        ("tabular", (NUMBERS, CLASSES.repeat(3)), "classes: 0 45, 1 45"),
    ],
)
def test_data_in_memory_are_checked_as_files_are(task, data, said, tmp_path):
    data = data(tmp_path) if callable(data) else data
    assert workflows.task_of_data(data) == task
    report = multiway.check(data)
    assert report.is_usable and said in "\n".join(report.lines())


def test_a_frame_has_the_flaws_of_its_file(tmp_path):
    frame = make_frame(rows=220)
    frame.iloc[7, 1] = np.nan
    frame.to_csv(tmp_path / "loads.csv", index=False)
    in_memory, on_disk = multiway.check(frame), multiway.check(tmp_path / "loads.csv")
    assert [finding.kind for finding in in_memory.findings] == [finding.kind for finding in on_disk.findings]
    assert not in_memory.is_usable and in_memory.missing == on_disk.missing
    assert multiway.check(frame, {"read": {"missing": "mask"}}).is_usable


@pytest.mark.parametrize(
    ("data", "task", "text"),
    [
        ((VOLUMES, CLASSES[:5]), None, "y: one class is needed per case, (30,). Got (5,)"),
        ((NUMBERS, CLASSES), "tabular", "y: one target is needed per row, (90,). Got (30,)"),
        ((VOLUMES[:, 0], CLASSES), "volumes", "X: volumes are (cases, *sizes) or"),
        ((VOLUMES, MASKS[:, 1:]), None, "y: one mask of whole numbers is needed per volume"),
    ],
)
def test_what_is_wrong_with_arrays_is_found(data, task, text):
    report = multiway.check(data, task=task)
    assert text in "\n".join(report.lines())


@pytest.mark.parametrize(
    ("data", "task", "error", "text"),
    [
        ((NUMBERS, CLASSES), "forecast", DataError, "series are forecast from themselves. Give one frame and no y"),
        ((NUMBERS, CLASSES, CLASSES), None, DataError, "one part or a pair such as .X, y.. Got 3 parts"),
        (VOLUMES, "segment", DataError, "volumes in memory need their masks. Give a pair .X, masks."),
        (None, None, DataError, "Got NoneType. Give a path, or a pandas or polars frame"),
    ],
)
def test_what_is_no_data_of_a_task_is_one_line(data, task, error, text):
    with pytest.raises(error, match=text) as caught:
        multiway.check(data, task=task)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("call", [multiway.train, lambda settings: multiway.audit("forecast", settings)])
def test_a_run_on_disk_and_an_audit_need_a_path(call):
    with pytest.raises(ConfigError, match=r"^data: a path or .* needed\. Got DataFrame\. Write it to a file") as caught:
        call({"data": make_frame(rows=220)})
    assert "\n" not in str(caught.value)


def answer_to_a_range_query():
    """As Prometheus answers, two series of a metric by five minutes."""
    series = [
        {"metric": {"__name__": "load", "instance": host}, "values": [[1704067200 + 300 * row, f"{row + place}"]
         for row in range(60)]} for place, host in enumerate(("h0:9100", "h1:9100"))
    ]  # fmt: skip
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": series}})


def test_an_answer_of_prometheus_is_read_as_series(tmp_path):
    path = tmp_path / "answer.json"
    path.write_text(answer_to_a_range_query())
    report = workflows.check(str(path))
    assert report.task == "forecast" and report.is_usable, list(report.lines(str))
    shown = "\n".join(report.lines(str))
    assert 'load{instance="h0:9100"}' in shown and "2024-01-01 00:00" in shown and "5min" in shown


@pytest.mark.parametrize("text", ['[{"a": 1}]', "[1, 2]", '{"data": {"x": 1}}'])
@pytest.mark.parametrize("name", ["nested.json", "nested.jsonl"])
def test_json_that_is_no_table_is_refused_in_words(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    report = workflows.check(str(tmp_path / name))
    assert not report.is_usable and any("error: " in line for line in report.lines(str))
