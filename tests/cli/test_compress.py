"""`multiway compress` as a user meets it."""

import json

import pytest
from typer.testing import CliRunner

from documents import run_command
from multiway.cli.app import app
from multiway.errors import ConfigError, MultiwayError, RunError
from multiway.tasks import lifecycle
from multiway.tasks.forecasting.task import TASK
from multiway.tasks.scores import in_words
from tasks.forecasting.panels import make_config, make_frame

RULE = [r"--rule", r"blocks.*(gate_up|down)=tt:rank=2"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    make_frame().to_csv(folder / "loads.csv", index=False)
    lifecycle.start(TASK, make_config(data=str(folder / "loads.csv"), answer="network"), folder / "run")
    return folder / "run"


def call(*words):
    """The command in this process; errors come out as they are raised."""
    result = CliRunner().invoke(app, ["compress", *map(str, words)])
    if isinstance(result.exception, MultiwayError):
        raise result.exception
    return result


def test_a_run_is_compressed_and_serves_the_other_commands(run, tmp_path):
    done = call(run, *RULE, "--out", tmp_path / "small", "--report", tmp_path / "plan.html")
    assert done.exit_code == 0, done.output
    assert "blocks.0.ffn.gate_up  tensor train" in done.output
    assert f"written to {tmp_path / 'small'}" in done.output and "seasonal naive" in done.output
    assert "The whole model takes " in done.output
    before, after = (lifecycle.load(path) for path in (run, tmp_path / "small"))
    assert f"before: {in_words(before, before.task.sentence(before))}" in done.output
    assert f"after: {in_words(after, after.task.sentence(after))}" in done.output
    assert "Compression report" in (tmp_path / "plan.html").read_text()
    for words in (["evaluate"], ["predict"], ["report"]):
        result = CliRunner().invoke(app, [*words, str(tmp_path / "small")])
        assert result.exit_code == 0, result.output


def test_a_dry_run_writes_nothing(run):
    before = sorted(run.parent.rglob("*"))
    done = call(run, "--rule", ".*=lowrank", "--max-parameters", "0.8", "--dry-run")
    assert done.exit_code == 0 and "layers swapped" in done.output and "written" not in done.output
    assert sorted(run.parent.rglob("*")) == before


def test_a_rule_that_says_no_size_halves_each_layer(run):
    done = call(run, "--rule", ".*=lowrank", "--dry-run", "--json")
    layers = [
        layer for layer in json.loads(done.output)["layers"] if layer["parameters_after"] < layer["parameters_before"]
    ]
    assert done.exit_code == 0 and layers
    assert all(layer["parameters_after"] <= layer["parameters_before"] / 2 for layer in layers)


def test_without_out_the_folder_is_next_to_the_run(run):
    assert call(run, *RULE).exit_code == 0
    assert (run.parent / "run-compressed" / "compression.json").is_file()
    with pytest.raises(RunError, match=r"run-compressed exists already. Set out to another folder"):
        call(run, *RULE)


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (["--rule", "absent=nd"], ConfigError, "matches no module's whole name"),
        (["--rule", ".*ffn"], ConfigError, "write REGEX=KIND:option=value"),
        ([*RULE, *RULE], ConfigError, "has two rules. Give it one"),
        ([*RULE, "--data", "x.safetensors"], ConfigError, "measured on its own validation samples. Leave out the data"),
        ([*RULE, "--max-error", "2"], ConfigError, "max_error is a share between 0 and 1"),
    ],
)
def test_wrong_rules_are_one_line_and_leave_nothing_behind(words, error, message, run, tmp_path):
    with pytest.raises(error, match=message) as caught:
        call(run, *words, "--out", tmp_path / "small")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_no_rule_is_wrong_usage(run):
    assert call(run).exit_code == 2


def test_what_is_no_model_is_one_line_on_stderr(tmp_path):
    done = run_command(["multiway", "compress", ".", "--rule", ".*=nd"], tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1 and "holds no model: neither config.yaml of a run" in done.stderr
