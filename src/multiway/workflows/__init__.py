"""What the command line does, as functions; whatever is particular to a task is in the task."""

from typing import TYPE_CHECKING

from multiway.lazy import lazily

if TYPE_CHECKING:
    from multiway.config import read_yaml as read_yaml
    from multiway.recipes.listing import list_recipes as list_recipes
    from multiway.tasks.answers import Answer as Answer
    from multiway.tasks.registry import TASKS as TASKS
    from multiway.tasks.registry import task_of_data as task_of_data
    from multiway.workflows.auditing import audit as audit
    from multiway.workflows.compression import Compressed as Compressed
    from multiway.workflows.compression import compress as compress
    from multiway.workflows.encoding import EncodedTexts as EncodedTexts
    from multiway.workflows.encoding import encode as encode
    from multiway.workflows.listing import list_datasets as list_datasets
    from multiway.workflows.looking import check as check
    from multiway.workflows.looking import fetch_dataset as fetch_dataset
    from multiway.workflows.looking import make_lesions as make_lesions
    from multiway.workflows.options import declarations as declarations
    from multiway.workflows.options import options_of as options_of
    from multiway.workflows.options import sections_of_reading as sections_of_reading
    from multiway.workflows.options import settings_of as settings_of
    from multiway.workflows.publications import beside_published as beside_published
    from multiway.workflows.publications import list_published as list_published
    from multiway.workflows.publications import published as published
    from multiway.workflows.reproducing import reproduce as reproduce
    from multiway.workflows.reproducing import task_of_recipe as task_of_recipe
    from multiway.workflows.runs import load_run as load_run
    from multiway.workflows.runs import load_runs as load_runs
    from multiway.workflows.runs import run_folders as run_folders
    from multiway.workflows.runs import task_name as task_name
    from multiway.workflows.training import Trained as Trained
    from multiway.workflows.training import resume as resume
    from multiway.workflows.training import train as train
    from multiway.workflows.tuning import Tuned as Tuned
    from multiway.workflows.tuning import tune as tune
    from multiway.workflows.using import backtest as backtest
    from multiway.workflows.using import compare as compare
    from multiway.workflows.using import evaluate as evaluate
    from multiway.workflows.using import explain as explain
    from multiway.workflows.using import predict as predict
    from multiway.workflows.using import report as report

__getattr__ = lazily(
    __name__,
    {
        "multiway.config": ("read_yaml",),
        "multiway.tasks.answers": ("Answer",),
        "multiway.tasks.registry": ("TASKS", "task_of_data"),
        "multiway.workflows.auditing": ("audit",),
        "multiway.workflows.compression": ("Compressed", "compress"),
        "multiway.workflows.encoding": ("EncodedTexts", "encode"),
        "multiway.recipes.listing": ("list_recipes",),
        "multiway.workflows.looking": ("check", "fetch_dataset", "make_lesions"),
        "multiway.workflows.listing": ("list_datasets",),
        "multiway.workflows.options": ("declarations", "options_of", "sections_of_reading", "settings_of"),
        "multiway.workflows.publications": ("beside_published", "list_published", "published"),
        "multiway.workflows.reproducing": ("reproduce", "task_of_recipe"),
        "multiway.workflows.runs": ("load_run", "load_runs", "run_folders", "task_name"),
        "multiway.workflows.training": ("Trained", "resume", "train"),
        "multiway.workflows.tuning": ("Tuned", "tune"),
        "multiway.workflows.using": ("backtest", "compare", "evaluate", "explain", "predict", "report"),
    },
)
